#include "python/learner.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "python/arrays.h"

namespace tessera {
namespace {

namespace py = pybind11;

void require_as_many(std::string_view what, std::size_t got, std::size_t wanted) {
  if (got != wanted)
    throw std::invalid_argument(fmt::format("{} gave {} results for {} models", what, got, wanted));
}

class PythonTrainer final : public Trainer {
 public:
  explicit PythonTrainer(py::object learner) : learner_(std::move(learner)) {
    const py::object initial = learner_.attr("initial");
    const auto values = floats_in(initial, "initial");
    initial_.assign(values.begin(), values.end());
    tensors_ = learner_.attr("tensors").cast<std::vector<std::uint32_t>>();
  }
  ~PythonTrainer() override {
    const py::gil_scoped_acquire gil;
    learner_ = py::object();
  }

  std::size_t dimension() const override { return initial_.size(); }
  Vector initial_model() const override { return initial_; }
  std::vector<std::uint32_t> tensors() const override { return tensors_; }

  void train(std::span<TrainJob> cohort) override {
    const py::gil_scoped_acquire gil;
    py::list models, nodes, seeds;
    for (TrainJob& job : cohort) {
      models.append(view_of(job.model, learner_));
      nodes.append(job.node);
      seeds.append(Random(job.random).bits64());
    }
    const auto losses = learner_.attr("train")(models, nodes, seeds).cast<std::vector<float>>();
    require_as_many("train", losses.size(), cohort.size());
    for (std::size_t i = 0; i < cohort.size(); ++i) cohort[i].loss = losses[i];
  }

  void fields(Archive& archive) override {
    const py::gil_scoped_acquire gil;
    std::string state;
    if (!archive.loading()) state = learner_.attr("state")().cast<std::string>();
    archive(state);
    if (archive.loading() && !state.empty()) learner_.attr("set_state")(py::bytes(state));
  }

 private:
  py::object learner_;
  Vector initial_{};
  std::vector<std::uint32_t> tensors_{};
};

class PythonEvaluator final : public Evaluator {
 public:
  explicit PythonEvaluator(py::object learner) : learner_(std::move(learner)) {}
  ~PythonEvaluator() override {
    const py::gil_scoped_acquire gil;
    learner_ = py::object();
  }

  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    const py::gil_scoped_acquire gil;
    py::list views, ids;
    for (std::size_t i = 0; i < models.size(); ++i) {
      views.append(view_of(models[i], learner_));
      ids.append(nodes[i]);
    }
    const auto pairs =
        learner_.attr("evaluate")(views, ids).cast<std::vector<std::pair<double, double>>>();
    require_as_many("evaluate", pairs.size(), models.size());
    std::vector<Score> scores;
    for (const auto& [accuracy, loss] : pairs) scores.push_back({accuracy, loss});
    return scores;
  }

 private:
  py::object learner_;
};

}  // namespace

Learning learning_of(const py::object& learner) {
  return {.trainer = std::make_unique<PythonTrainer>(learner),
          .evaluator = std::make_unique<PythonEvaluator>(learner),
          .description = py::str(learner.attr("description"))};
}

}  // namespace tessera
