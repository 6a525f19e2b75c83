// A protocol that is written in Python: a class with hooks, which tessera.Protocol describes.
#include <fmt/format.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "protocol/protocols.h"
#include "python/bindings.h"
#include "python/own_classes.h"
#include "python/own_node.h"

namespace tessera {
namespace {

namespace py = pybind11;

OwnClasses& classes() {
  static auto* const known = new OwnClasses();
  return *known;
}

class OwnProtocol final : public Protocol {
 public:
  // With the GIL.
  OwnProtocol(std::string name, std::shared_ptr<const Topology> topology, Round rounds)
      : name_(std::move(name)),
        own_(classes().make(name_)),
        topology_(std::move(topology)),
        rounds_(rounds) {}
  ~OwnProtocol() override {
    const py::gil_scoped_acquire gil;
    own_ = py::object();
    restored_.clear();
  }

  void on_start(Node& node) override { call(node, "on_start"); }
  void on_trained(Node& node) override { call(node, "on_trained"); }
  void on_wake(Node& node) override { call(node, "on_wake"); }
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override {
    call(node, "on_share", Share(*share), heading, from);
  }
  void on_refused(Node& node, NodeId from, const Heading& heading) override {
    call(node, "on_refused", Share(), heading, from);
  }

  Round rounds_done() const override { return rounds_done_; }
  std::string waiting_for() const override {
    const py::gil_scoped_acquire gil;
    return py::hasattr(own_, "waiting_for") ? own_.attr("waiting_for")().cast<std::string>() : "";
  }

  void fields(Archive& archive) override {
    const py::gil_scoped_acquire gil;
    std::string state;
    if (!archive.loading()) state = own_.attr("state")().cast<std::string>();
    archive(state);
    if (!archive.loading() || !archive.ok()) return;
    restored_.clear();
    shares_being_restored() = &restored_;
    try {
      own_.attr("set_state")(py::bytes(state));
    } catch (...) {
      shares_being_restored() = nullptr;
      throw;
    }
    shares_being_restored() = nullptr;
    rounds_done_ = 0;
    take_rounds_done();
  }
  std::vector<const Share*> kept() const override {
    std::vector<const Share*> shares;
    for (const SharePointer& share : restored_) shares.push_back(&share->share);
    return shares;
  }

 private:
  template <typename... Heard>
  void call(Node& node, const char* hook, Heard&&... heard) {
    const py::gil_scoped_acquire gil;
    restored_.clear();
    if (!py::hasattr(own_, hook)) return;
    const auto seen = std::make_shared<OwnNode>(node, *topology_, [this] { take_rounds_done(); });
    try {
      if constexpr (sizeof...(heard) == 0)
        own_.attr(hook)(seen);
      else
        own_.attr(hook)(seen, shown(std::forward<Heard>(heard)...));
    } catch (...) {
      seen->end();
      throw;
    }
    seen->end();
    take_rounds_done();
  }

  static SharePointer shown(Share share, const Heading& heading, NodeId from) {
    const bool heard = share.dimension > 0;  // One that was refused comes with its heading alone.
    return std::make_shared<OwnShare>(OwnShare{std::move(share), heading, from, heard});
  }

  void take_rounds_done() {
    const auto done = own_.attr("rounds_done").cast<Round>();
    if (done < rounds_done_ || (rounds_ > 0 && done > rounds_))
      throw std::invalid_argument(
          fmt::format("{}: rounds_done went from {} to {}: it counts up, to {} at most", name_,
                      rounds_done_, done, rounds_));
    rounds_done_ = done;
  }

  std::string name_;
  py::object own_;
  std::shared_ptr<const Topology> topology_;
  Round rounds_;
  Round rounds_done_ = 0;  // As of the last hook.
  std::vector<SharePointer> restored_{};
};

PreparedProtocol prepare_own(Options& options, const ProtocolContext& context) {
  const py::gil_scoped_acquire gil;
  const std::string name = classes().require(options, "protocol");
  const py::object sample = classes().make(name);
  const auto rounds = py::getattr(sample, "rounds", py::int_(0)).cast<Round>();
  const bool waits = py::getattr(sample, "waits_for_ever", py::bool_(true)).cast<bool>();
  if (rounds == 0) options.refuse("class", "it has no `rounds`, after which a node finishes");
  return {.make =
              [name, rounds, topology = context.topology](NodeId) {
                const py::gil_scoped_acquire gil_too;
                return std::make_unique<OwnProtocol>(name, topology, rounds);
              },
          .rounds = rounds,
          .waits_for_ever = waits};
}

}  // namespace

void bind_own_protocol(py::module_& module) {
  register_protocol({.name = "python",
                     .usage = "python:class=NAME",
                     .summary = "a class written in Python, whose nodes go through rounds",
                     .prepare = prepare_own,
                     .synchronous = true});
  register_protocol({.name = "python-asynchronous",
                     .usage = "python-asynchronous:class=NAME",
                     .summary = "a class written in Python, whose nodes have no rounds in common",
                     .prepare = prepare_own});
  module.def("register_protocol", [](const std::string& name, py::object make) {
    classes().add(name, std::move(make));
  });
}

}  // namespace tessera
