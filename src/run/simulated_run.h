// A plan carried out in virtual time. It prints nothing and touches no run's folder: rows come
// through a function, a checkpoint is bytes. The same plan gives the same rows and models whatever
// the threads, and whether or not it was stopped and restored in between.
//
//   SimulatedRun run(read_plan(experiment));
//   run.on_row(show);
//   run.start();
//   while (run.step()) continue;
//   run.finish();
//   save(run.summary());
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/archive.h"
#include "report/metrics.h"
#include "report/run_log.h"
#include "run/lesson.h"
#include "run/plan.h"
#include "sim/simulation.h"

namespace tessera {

// The plan's nodes and world alone, for those who measure in their own way; the trainer outlives
// it. Without a partition nodes have no samples.
std::unique_ptr<Simulation> make_simulation(const Plan& plan, Trainer& trainer, unsigned threads,
                                            Ranks* ranks = nullptr,
                                            const Partition& partition = {});

// Nodes wait for ever for what never comes.
struct Stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SimulatedRun {
 public:
  // Loads the plan's data. Throws what make_lesson throws. With 0 threads it takes one per core.
  // With several ranks it is carried out by all of them together: each has a run of the same plan,
  // calls the same functions in the same order, and gets the same rows and summary.
  explicit SimulatedRun(Plan plan, unsigned threads = 0, Ranks* ranks = nullptr);
  // With a trainer and an evaluator of one's own; the plan's lines on learning are left aside.
  SimulatedRun(Plan plan, Learning lesson, unsigned threads = 0, Ranks* ranks = nullptr);
  SimulatedRun(const SimulatedRun&) = delete;
  SimulatedRun& operator=(const SimulatedRun&) = delete;

  void on_row(OnRow on_row) { on_row_ = std::move(on_row); }  // Told every row once it is complete.
  void start();
  // Handles the next instant, and makes the rows that are due before it. False when all is over, or
  // nothing is left to happen; then finish() says which.
  bool step();
  // After the last step: the last row. Throws Stuck where nodes wait for ever.
  void finish();

  // Checkpoints, between two steps; one that loads was made from the same plan. What rank 0 saves
  // can be loaded by any number of ranks.
  void save(Bytes& state) const;
  Result<void> load(ByteReader& state);

  // Something that all ranks should do at the same instant (sim/blocks.h).
  void wish(std::uint8_t wishes) { simulation_->blocks().wish(wishes); }
  std::uint8_t heard() const { return simulation_->blocks().heard(); }

  // After loading what a run saved that was to end sooner, by the plan `before` (run/longer.h).
  // Throws std::runtime_error where some nodes had come to that end.
  void lengthen(const Plan& before);
  // Whether some node may come to its end with the next step.
  bool about_to_end() const;

  const Plan& plan() const { return plan_; }
  const Learning& lesson() const { return lesson_; }
  const Simulation& simulation() const { return *simulation_; }
  Summary to_end();         // All of the above: start, every step, finish.
  Summary summary() const;  // Without the program's own times and command.
  // In these formats; see learn/learning.h.
  void export_models(const std::filesystem::path& folder, std::string_view formats = {}) const;

  void fields(Archive& archive) { archive(*simulation_, *lesson_.trainer, *log_); }

 private:
  Plan plan_;
  std::unique_ptr<LessonTime> time_;
  Learning lesson_;
  std::unique_ptr<Simulation> simulation_;
  OnRow on_row_;
  std::unique_ptr<RunLog> log_;
};

}  // namespace tessera
