// A simulated run from an experiment's text to its folder, with progress for whoever watches.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/checkpoint_schedule.h"
#include "report/metrics.h"
#include "report/run_folder.h"
#include "run/experiment.h"
#include "run/lesson.h"
#include "run/plan.h"
#include "sim/ranks.h"

namespace tessera {

struct SimOptions {
  ExistingRun existing = ExistingRun::kRefuse;
  CheckpointEvery checkpoint_every{};
  unsigned threads = 0;
  bool quiet = false, save_models = false;
  bool keep = false;       // Whether it leaves a checkpoint from which it can be made longer.
  std::string formats{};   // Of the final models, as in "safetensors,npz".
  std::string command{};   // What was typed.
  Ranks* ranks = nullptr;  // None: this process alone.
  // With how many threads; another one for a trainer and an evaluator of one's own.
  std::function<Learning(const Plan&, unsigned)> make_lesson = tessera::make_lesson;
  bool writes() const { return !ranks || ranks->mine() == 0; }
};

// Its summary.json; nothing where a signal stopped it, with a checkpoint written. With several
// ranks, all of them do this together, and the first alone writes and speaks. Throws
// std::invalid_argument for a wrong line and std::runtime_error where it cannot go on; where a
// device failed, its words say how the run can.
struct Simulated {
  std::optional<std::string> summary{};
  int exit_code = 0;
};
Simulated simulate(const Experiment& experiment, const std::filesystem::path& out,
                   const SimOptions& options);

void print_merged(const MetricsRow& row);  // A line, where the row has a merged model.

// What --resume and --overwrite say of a run that is there. Throws std::invalid_argument for both.
ExistingRun existing_run(bool resume, bool overwrite);

}  // namespace tessera
