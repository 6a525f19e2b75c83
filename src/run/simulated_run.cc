#include "run/simulated_run.h"

#include <stdexcept>
#include <utility>

#include "data/class_table.h"
#include "report/round_log.h"
#include "report/time_log.h"
#include "run/longer.h"
#include "topology/describe.h"

namespace tessera {
namespace {

std::unique_ptr<RunLog> make_log(const Plan& plan, const Learning& lesson, OnRow on_row) {
  Evaluator& evaluator = *lesson.evaluator;
  Measured measured(plan.nodes, plan.faults.hostile());
  if (plan.evaluate.merged) measured.merged_dimension = lesson.trainer->dimension();
  measured.starts = plan.evaluate.start;
  measured.each_node = plan.evaluate.nodes;
  // When a last merge will be over is not known before.
  const Instant until = plan.merge ? kNever : plan.protocol.prepared.until;
  if (plan.evaluate.by_time())
    return std::make_unique<TimeLog>(evaluator, measured, plan.evaluate.period, until,
                                     std::move(on_row));
  return std::make_unique<RoundLog>(evaluator, measured, plan.evaluate.rounds,
                                    plan.protocol.prepared.rounds, std::move(on_row));
}

}  // namespace

std::unique_ptr<Simulation> make_simulation(const Plan& plan, Trainer& trainer, unsigned threads,
                                            Ranks* ranks, const Partition& partition) {
  std::vector<std::uint32_t> samples;
  for (NodeId id = 0; id < plan.nodes; ++id) samples.push_back(samples_of(partition, id));
  SimulationParts parts{
      .shard = {.nodes = plan.nodes, .trainer = &trainer, .threads = threads, .ranks = ranks}};
  parts.shard.make_node = [plan, initial = trainer.initial_model(), tensors = trainer.tensors(),
                           samples = std::move(samples)](NodeId id) {
    return make_node(plan, id, initial, tensors, samples[id]);
  };
  parts.network = make_network(plan);
  parts.compute = plan.world->compute;
  parts.faults = plan.faults;
  // Edges that go one way are no neighbours in this sense.
  if (plan.protocol.kind->fixed_peers && !plan.topology->redrawn() && !plan.topology->has_weights())
    parts.graph = plan.topology->graph(0);
  return std::make_unique<Simulation>(std::move(parts));
}

SimulatedRun::SimulatedRun(Plan plan, unsigned threads, Ranks* ranks)
    : SimulatedRun(plan, make_lesson(plan, threads), threads, ranks) {}

SimulatedRun::SimulatedRun(Plan plan, Learning lesson, unsigned threads, Ranks* ranks)
    : plan_(std::move(plan)), time_(std::make_unique<LessonTime>()), lesson_(std::move(lesson)) {
  require_samples(plan_, lesson_);
  measure(lesson_, *time_);
  simulation_ = make_simulation(plan_, *lesson_.trainer, threads, ranks, lesson_.partition);
  divide_evaluation(lesson_, simulation_->blocks());
  log_ = make_log(plan_, lesson_, [this](const MetricsRow& row) {
    if (on_row_) on_row_(row);
  });
}

void SimulatedRun::start() {
  simulation_->start();
}

bool SimulatedRun::step() {
  // When nothing is left to happen, time stands still, and the last row is of the end.
  while (simulation_->next() != kNever && log_->next_sample() <= simulation_->next())
    log_->sample(*simulation_);
  return simulation_->step(*log_);
}

void SimulatedRun::finish() {
  if (!simulation_->finished()) throw Stuck(simulation_->why_stuck());
  log_->finish(*simulation_);
}

void SimulatedRun::lengthen(const Plan& before) {
  if (same_end(before, plan_)) return;
  if (simulation_->progress().any_finished())
    throw std::runtime_error(
        "cannot make it longer: in its last checkpoint some nodes had come to their end; a run "
        "with --keep leaves one from before that");
  if (const Instant was = before.protocol.prepared.until; was != kNever)
    simulation_->postpone_wakes(was, plan_.protocol.prepared.until);
}

bool SimulatedRun::about_to_end() const {
  const PreparedProtocol& protocol = plan_.protocol.prepared;
  return (protocol.rounds > 0 && simulation_->progress().fastest() + 1 >= protocol.rounds) ||
         simulation_->next() >= protocol.until;
}

void SimulatedRun::save(Bytes& state) const {
  save_fields(*this, state, &simulation_->blocks());
}

Result<void> SimulatedRun::load(ByteReader& state) {
  const Result<void> loaded = load_fields(*this, state, &simulation_->blocks());
  const std::string why = simulation_->blocks().first_of(loaded.ok() ? "" : loaded.error().message);
  if (!why.empty()) return Error{"checkpoint", why};
  return {};
}

Summary SimulatedRun::to_end() {
  start();
  while (step()) continue;
  finish();
  return summary();
}

Summary SimulatedRun::summary() const {
  const RunLog::Latest& latest = log_->latest();
  Summary summary{.seed = plan_.seed,
                  .nodes = plan_.nodes,
                  .parameters = lesson_.trainer->dimension(),
                  .last = latest.row,
                  .edges = edges_to_draw(*plan_.topology->graph(0)),
                  .stragglers = plan_.world->stragglers,
                  .hostile = {plan_.faults.hostile().begin(), plan_.faults.hostile().end()},
                  .took = {.training = time_->training_s, .evaluating = time_->evaluating_s},
                  .peak_rss_bytes = peak_rss_bytes(),
                  .model_digest = simulation_->model_digest()};
  if (lesson_.gpu_use) {
    const GpuUse use = lesson_.gpu_use();
    summary.took.gpus = use.gpus;
    summary.took.gpu_busy = use.busy_s;
  }
  for (const auto& [reason, count] : simulation_->refusals()) summary.refusals[reason] = count;
  for (const NodeRow& node : latest.nodes) {
    summary.node_accuracy.push_back(node.score.accuracy);
    summary.node_loss.push_back(node.score.loss);
  }
  if (summary.last.network) summary.node_figures = latest.figures;
  if (const LoadedData& data = lesson_.data; data.train && data.task.classes > 0) {
    summary.class_counts = class_counts(data, lesson_.partition);
    summary.class_names = data.class_names;
  }
  return summary;
}

void SimulatedRun::export_models(const std::filesystem::path& folder,
                                 std::string_view formats) const {
  std::vector<Vector> models;
  for (NodeId id = 0; id < plan_.nodes; ++id) {
    Vector model = simulation_->model_of_any(id);
    if (simulation_->blocks().writes()) models.push_back(std::move(model));
  }
  if (!simulation_->blocks().writes()) return;
  const std::vector<std::span<const float>> views(models.begin(), models.end());
  tessera::export_models(lesson_, views, folder, formats);
}

}  // namespace tessera
