#include "run/live_replay.h"

#include <stdexcept>

#include "run/lesson.h"
#include "run/plan.h"

namespace tessera {

ReplayedNode replay_live_log(const std::string& file) {
  EventLogReader log = or_throw<std::invalid_argument>(EventLogReader::open(file));
  const NodeId id = log.header().id;
  Plan plan = read_live_plan(parse_experiment(log.header().config, file));
  plan.roster_run = log.header().run;
  plan.lesson.options.only = id;
  const Learning lesson = make_lesson(plan, 1);
  const auto make = [&](Vector model) {
    return make_node(plan, id, std::move(model), lesson.trainer->tensors(),
                     samples_of(lesson.partition, id));
  };
  return {.id = id, .story = or_throw(replay(log, make, *lesson.trainer), file + ": ")};
}

}  // namespace tessera
