// The folders of runs, and what can be read from several of them.
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "python/arrays.h"
#include "python/bindings.h"
#include "report/compare.h"
#include "report/metrics_table.h"
#include "report/page.h"
#include "report/run_folder.h"
#include "report/stored_run.h"

namespace tessera {
namespace {

namespace py = pybind11;

class PythonFolder {
 public:
  static ExistingRun existing_of(const std::string& word) {
    if (word == "refuse") return ExistingRun::kRefuse;
    if (word == "resume") return ExistingRun::kResume;
    if (word == "overwrite") return ExistingRun::kOverwrite;
    throw std::invalid_argument("existing: '" + word + "' is none of refuse, resume, overwrite");
  }

  PythonFolder(const std::string& path, const std::string& config, const std::string& existing,
               const std::string& former)
      : folder_(path, config, existing_of(existing), former) {}

  void append(const std::string& line) { folder_.append_metrics(line); }
  void write_summary(const std::string& json) { folder_.write_summary(json); }
  void write_checkpoint(std::uint32_t round, std::string_view state) {
    folder_.write_checkpoint(round, bytes_in(state));
  }
  void write_config(const std::string& config) { folder_.write_config(config); }
  void remove_checkpoints() { folder_.remove_checkpoints(); }
  py::object read_checkpoint() {
    const auto restored = folder_.read_checkpoint();
    if (!restored || restored->state.empty()) return py::none();
    return python_bytes(restored->state);
  }

 private:
  RunFolder folder_;
};

FoundRuns runs_in(const std::vector<std::string>& folders) {
  FoundRuns found = find_runs(folders);
  if (found.runs.empty())
    throw std::invalid_argument(found.left_out.empty() ? "there is no run in these folders"
                                                       : found.left_out.front().message);
  return found;
}

std::string report_page(const std::vector<std::string>& folders, const std::string& title) {
  const FoundRuns found = runs_in(folders);
  const std::vector<MetricsTable> tables = read_metrics(found.runs);
  return page_with(page_data(found, tables, {.title = title}), false);
}

std::string compare_runs(const std::vector<std::string>& folders, std::string_view format) {
  const FoundRuns found = runs_in(folders);
  for (const TableFormatName& known : table_formats())
    if (known.name == format) return comparison_table(found.runs, known.format);
  throw std::invalid_argument("format: '" + std::string(format) + "' is no format of a table");
}

}  // namespace

void bind_folders(py::module_& module) {
  using namespace py::literals;
  py::class_<PythonFolder>(module, "Folder")
      .def(py::init<const std::string&, const std::string&, const std::string&,
                    const std::string&>(),
           "path"_a, "config"_a, "existing"_a, "former"_a = "")
      .def("write_config", &PythonFolder::write_config)
      .def("append", &PythonFolder::append)
      .def("write_summary", &PythonFolder::write_summary)
      .def("write_checkpoint", &PythonFolder::write_checkpoint)
      .def("remove_checkpoints", &PythonFolder::remove_checkpoints)
      .def("read_checkpoint", &PythonFolder::read_checkpoint);
  module.def(
      "check_folder",
      [](const std::string& path, const std::string& config, const std::string& existing,
         const std::string& former) {
        RunFolder::check(path, config, PythonFolder::existing_of(existing), former);
      },
      "path"_a, "config"_a, "existing"_a, "former"_a = "");
  module.def("report_page", report_page);
  module.def("compare_runs", compare_runs);
}

}  // namespace tessera
