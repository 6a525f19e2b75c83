// Experiments and simulations; python/tessera/simulation.py makes a loop of them.
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "data/partition.h"
#include "data/views.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "python/learner.h"
#include "report/checkpoint_file.h"
#include "report/run_folder.h"
#include "run/longer.h"
#include "run/made.h"
#include "run/simulated_run.h"

namespace tessera {
namespace {

namespace py = pybind11;

// How long Python waits before it looks for Ctrl-C and other threads' wishes.
constexpr double kGlance = 0.05;

class PythonRun {
 public:
  PythonRun(const std::string& file, const std::map<std::string, std::string>& keys,
            const py::object& learner, unsigned threads) {
    ExperimentArguments arguments{.file = file, .flags = keys};
    Plan plan = read_plan(arguments.resolve());
    if (learner.is_none()) {
      const py::gil_scoped_release without_gil;
      run_ = std::make_unique<SimulatedRun>(std::move(plan), threads);
    } else {
      run_ = std::make_unique<SimulatedRun>(std::move(plan), learning_of(learner), threads);
    }
    run_->on_row([this](const MetricsRow& row) { rows_.push_back(to_json_line(row)); });
  }

  void start() {
    const py::gil_scoped_release without_gil;
    run_->start();
  }

  // Steps until there is a row, or for a moment, or, where asked to, as long as no node may come to
  // its end with the next. False when there is nothing left to do.
  bool advance(bool stop_before_end) {
    const py::gil_scoped_release without_gil;
    const Stopwatch watch;
    bool goes_on = true;
    while (goes_on && rows_.empty() && watch.seconds() < kGlance) {
      if (stop_before_end && run_->about_to_end()) break;
      goes_on = run_->step();
    }
    if (!goes_on) run_->finish();
    loop_seconds_ += watch.seconds();
    return goes_on;
  }

  std::vector<std::string> take_rows() { return std::exchange(rows_, {}); }

  py::bytes save() {
    Bytes state;
    {
      const py::gil_scoped_release without_gil;
      save_fields(*run_, state);
    }
    return python_bytes(state);
  }

  void load(std::string_view state) {
    const py::gil_scoped_release without_gil;
    ByteReader in(bytes_in(state));
    const Result<void> loaded = load_fields(*run_, in);
    if (!loaded) throw std::runtime_error("cannot resume: " + loaded.error().message);
  }

  bool about_to_end() const { return run_->about_to_end(); }

  // The text of the run in this folder, where this one is the same but longer or elsewhere on its
  // device; else nothing.
  std::string former_in(const std::string& folder) const {
    const std::optional<Plan> before = plan_to_go_on_from(folder, run_->plan());
    if (!before) return {};
    if (RunFolder::finished(folder) && !same_end(*before, run_->plan()) &&
        checkpoints_in(std::filesystem::path(folder) / "checkpoint").empty())
      throw std::invalid_argument(folder +
                                  " came to its end and left no checkpoint to make it longer from: "
                                  "a run with keep=True does");
    return to_toml(before->experiment);
  }
  void lengthen(const std::string& before) {
    run_->lengthen(read_plan(parse_experiment(before, "config.toml")));
  }

  std::string config() const { return to_toml(run_->plan().experiment); }
  std::string summary() const {
    Summary summary = run_->summary();
    summary.took.all = since_made_.seconds();
    summary.took.loop = loop_seconds_;
    summary.command = "Python";
    summary.made = made_now();
    return to_json(summary);
  }
  std::string description() const { return run_->lesson().description; }
  Round rounds_done() const { return run_->simulation().rounds_done(); }
  std::uint32_t nodes() const { return run_->plan().nodes; }
  std::uint64_t digest() const { return run_->simulation().model_digest(); }
  py::array_t<float> model(std::uint32_t node) const {
    if (node >= nodes())
      throw std::invalid_argument("node: there is no node " + std::to_string(node));
    return array_of(run_->simulation().model(node));
  }
  void export_models(const std::string& folder, const std::string& formats) const {
    run_->export_models(folder, formats);
  }

 private:
  Stopwatch since_made_{};
  double loop_seconds_ = 0;
  std::unique_ptr<SimulatedRun> run_{};
  std::vector<std::string> rows_{};
};

// The labels of somebody's dataset, which is all a partition asks for.
class Labels final : public Dataset {
 public:
  explicit Labels(std::vector<std::uint32_t> labels) : labels_(std::move(labels)) {}
  std::size_t size() const override { return labels_.size(); }
  float get(std::size_t index, std::span<float>) const override {
    return static_cast<float>(labels_[index]);
  }

 private:
  std::vector<std::uint32_t> labels_;
};

std::vector<py::array_t<std::uint32_t>> deal(const std::vector<std::uint32_t>& labels,
                                             std::uint32_t nodes, const std::string& partition,
                                             std::uint64_t seed) {
  LoadedData data;
  data.name = "labels";
  data.train = std::make_shared<Labels>(labels);
  for (const std::uint32_t label : labels)
    data.task.classes = std::max(data.task.classes, label + 1);
  data.task.shape = {1, 1, 1};
  data.test = data.train;
  std::vector<py::array_t<std::uint32_t>> parts;
  for (const Indices& part :
       partition_data(data, partition, nodes, Random(seed).fork("partition")).train)
    parts.push_back(array_of(part));
  return parts;
}

}  // namespace

void bind_runs(py::module_& module) {
  using namespace py::literals;
  py::class_<PythonRun>(module, "Run")
      .def(py::init<const std::string&, const std::map<std::string, std::string>&,
                    const py::object&, unsigned>(),
           "file"_a, "keys"_a, "learner"_a, "threads"_a)
      .def("start", &PythonRun::start)
      .def("advance", &PythonRun::advance, "stop_before_end"_a = false)
      .def("take_rows", &PythonRun::take_rows)
      .def("save", &PythonRun::save)
      .def("load", &PythonRun::load)
      .def("former_in", &PythonRun::former_in, "folder"_a)
      .def("lengthen", &PythonRun::lengthen, "before"_a)
      .def("model", &PythonRun::model)
      .def("export_models", &PythonRun::export_models)
      .def_property_readonly("about_to_end", &PythonRun::about_to_end)
      .def_property_readonly("config", &PythonRun::config)
      .def_property_readonly("summary", &PythonRun::summary)
      .def_property_readonly("description", &PythonRun::description)
      .def_property_readonly("rounds_done", &PythonRun::rounds_done)
      .def_property_readonly("nodes", &PythonRun::nodes)
      .def_property_readonly("digest", &PythonRun::digest);
  module.def("experiment_keys", [] {
    std::vector<std::pair<std::string, std::string>> keys;
    for (const ExperimentKey& key : experiment_keys()) keys.emplace_back(key.name, key.summary);
    return keys;
  });
  module.def("partition", deal, "labels"_a, "nodes"_a, "partition"_a = "iid", "seed"_a = 90,
             "The indices of a dataset, given by its samples' labels, that each node gets, by the "
             "line `partition` of an experiment; `tessera list partitions` knows them all.");
  module.def("made", [] {
    const Made made = made_now();
    return std::map<std::string, std::string>{{"version", made.version},
                                              {"commit", made.commit},
                                              {"date", made.date},
                                              {"host", made.host}};
  });
}

}  // namespace tessera
