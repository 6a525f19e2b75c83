// Drives a node through the events a live one recorded, and compares.
#include <fmt/format.h>

#include <stdexcept>

#include "cli/experiment.h"
#include "cli/live_replay.h"
#include "cli/world.h"
#include "live/event_log.h"

namespace tessera {

int replay_live_log(const std::string& file) {
  Result<EventLogReader> log = EventLogReader::open(file);
  if (!log.ok()) throw std::invalid_argument(log.error().message);
  const EventLogHeader& header = log->header();
  const Experiment experiment = parse_experiment(header.config, file);
  const NodeRecipe recipe(experiment);
  const Learning lesson = make_lesson(experiment, 1);
  const auto make_node = [&](Vector model) {
    return recipe.make(header.id, std::move(model), lesson.trainer->tensors());
  };
  const Result<Replay> replayed = replay(*log, make_node, *lesson.trainer);
  if (!replayed.ok()) throw std::runtime_error(file + ": " + replayed.error().message);
  fmt::print("node {}: {} events, {} trainings, {} rounds, digest {:016x}{}\n", header.id,
             replayed->events, replayed->trainings, replayed->rounds, replayed->model_digest,
             replayed->torn ? " (the log's end is torn off)" : "");
  if (replayed->difference.empty()) return 0;
  fmt::print(stderr, "tessera: {}: differs from the live run {}\n", file, replayed->difference);
  return 1;
}

}  // namespace tessera
