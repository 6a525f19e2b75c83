// A live node beside a loop in Python; python/tessera/peer.py is what people see. The node's own
// threads never touch Python.
#include <pybind11/stl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "live/link/keys.h"
#include "live/nonce.h"
#include "live/roster.h"
#include "live/status.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "run/live_loop.h"

namespace tessera {
namespace {

namespace py = pybind11;

const char* name_of(LoopDesk::Call call) {
  switch (call) {
    case LoopDesk::Call::kNothingYet:
      return "nothing yet";
    case LoopDesk::Call::kTrain:
      return "train";
    case LoopDesk::Call::kTest:
      return "test";
    case LoopDesk::Call::kFinished:
      return "finished";
    case LoopDesk::Call::kEnded:
      return "ended";
  }
  return "";
}

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

class PythonPeer {
 public:
  using Lines = std::map<std::string, std::string>;
  PythonPeer(const std::string& file, const Lines& keys, const Lines& lines,
             const py::handle& initial, std::vector<std::uint32_t> tensors, std::string description,
             bool tests)
      : pid_(::getpid()) {
    const auto model = floats_in(initial, "model");
    LoopParts parts{.model = {model.begin(), model.end()},
                    .tensors = std::move(tensors),
                    .description = std::move(description),
                    .tests = tests};
    const py::gil_scoped_release without_gil;
    LiveSettings settings = read_live_settings(file, keys);
    set_lines(settings.lines, lines);
    loop_ = std::make_unique<LiveLoop>(std::move(settings), std::move(parts));
  }
  // A child of fork() has the object and not its threads, so it lets go of what it cannot end.
  ~PythonPeer() {
    if (::getpid() != pid_) (void)loop_.release();
    const py::gil_scoped_release without_gil;
    loop_.reset();
  }
  PythonPeer(const PythonPeer&) = delete;
  PythonPeer& operator=(const PythonPeer&) = delete;

  void start() { loop_->start("Python"); }
  const char* wait(double seconds) {
    const py::gil_scoped_release without_gil;
    return name_of(loop_->desk().wait(duration_of(seconds)));
  }
  bool wait_for_end(double seconds) {
    const py::gil_scoped_release without_gil;
    return loop_->desk().wait_for_end(duration_of(seconds));
  }
  void copy_model(const py::handle& array) const {
    const auto target = floats_to_change(array, "model");
    const Vector& model = loop_->desk().model();
    if (target.size() != model.size())
      throw std::invalid_argument("model: its size has changed since the peer was made");
    std::copy(model.begin(), model.end(), target.begin());
  }
  std::uint64_t seed() const { return loop_->desk().seed(); }
  void trained(const py::handle& array, float loss, std::string memory) {
    const auto model = floats_in(array, "model");
    const py::gil_scoped_release without_gil;
    loop_->desk().trained({model.begin(), model.end()}, loss, std::move(memory));
  }
  void tested(double accuracy, double loss) { loop_->desk().tested({accuracy, loss}); }
  py::object take_restored() {
    const std::optional<std::string> memory = loop_->desk().take_restored();
    return memory ? py::object(py::bytes(*memory)) : py::none();
  }
  void leave() {
    const py::gil_scoped_release without_gil;
    loop_->leave();
  }
  const char* end() {
    const py::gil_scoped_release without_gil;
    const RunEnd end = loop_->end();
    return end == RunEnd::kFinished                              ? "finished"
           : end == RunEnd::kStopped || end == RunEnd::kNotBegun ? "stopped"
           : end == RunEnd::kRemoved                             ? "removed"
                                                                 : "fell short";
  }
  std::string shortfall() const { return loop_->shortfall(); }
  std::string status() const {
    const py::gil_scoped_release without_gil;
    return to_json(loop_->status());
  }
  std::vector<LiveLoop::Line> take_lines() { return loop_->take_lines(); }

 private:
  pid_t pid_;
  std::unique_ptr<LiveLoop> loop_{};
};

// Keys for every member in a folder, and a roster with all of them: for networks on one machine.
std::string make_roster(const std::string& folder,
                        const std::vector<std::pair<std::string, std::string>>& members) {
  std::filesystem::create_directories(folder);
  Roster roster;
  for (const auto& [name, address] : members) {
    if (const std::string fault = member_name_fault(name); !fault.empty())
      throw std::invalid_argument("'" + name + "': " + fault);
    const KeyPair keys = or_throw<std::invalid_argument>(make_key_files(key_files(folder, name)));
    or_throw<std::invalid_argument>(roster.add(name, address, keys.public_key));
  }
  roster.set_run(draw_nonce());
  const std::filesystem::path path = std::filesystem::path(folder) / "roster.toml";
  or_throw(roster.write(path));
  return path.string();
}

}  // namespace

void bind_live_peer(py::module_& module) {
  using namespace py::literals;
  py::class_<PythonPeer>(module, "LivePeer")
      .def(py::init<const std::string&, const PythonPeer::Lines&, const PythonPeer::Lines&,
                    const py::handle&, std::vector<std::uint32_t>, std::string, bool>(),
           "file"_a, "keys"_a, "lines"_a, "initial"_a, "tensors"_a, "description"_a, "tests"_a)
      .def("start", &PythonPeer::start)
      .def("wait", &PythonPeer::wait)
      .def("wait_for_end", &PythonPeer::wait_for_end)
      .def("copy_model", &PythonPeer::copy_model)
      .def("trained", &PythonPeer::trained)
      .def("tested", &PythonPeer::tested)
      .def("take_restored", &PythonPeer::take_restored)
      .def("leave", &PythonPeer::leave)
      .def("end", &PythonPeer::end)
      .def("take_lines", &PythonPeer::take_lines)
      .def_property_readonly("seed", &PythonPeer::seed)
      .def_property_readonly("shortfall", &PythonPeer::shortfall)
      .def_property_readonly("status", &PythonPeer::status);
  module.def("node_keys", [] {
    std::vector<std::pair<std::string, std::string>> keys;
    for (const LiveKey& key : live_keys()) keys.emplace_back(key.name, key.summary);
    return keys;
  });
  module.def("members_of", [](const std::string& path) {
    return or_throw<std::invalid_argument>(Roster::read(path)).next_id();
  });
  module.def("make_roster", make_roster, "folder"_a, "members"_a);
}

}  // namespace tessera
