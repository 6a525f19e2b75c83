#include "python/own_node.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <chrono>
#include <stdexcept>

#include "python/arrays.h"
#include "python/bindings.h"

namespace tessera {
namespace {

namespace py = pybind11;

py::bytes save_share(const OwnShare& share) {
  if (!share.heard) throw std::invalid_argument("only shares that were heard are kept");
  Bytes out;
  save_fields(share, out);
  return python_bytes(out);
}

SharePointer load_share(std::string_view saved) {
  std::vector<SharePointer>* const restored = shares_being_restored();
  if (!restored) throw std::invalid_argument("a share is read back in set_state() alone");
  auto share = std::make_shared<OwnShare>();
  ByteReader in(bytes_in(saved));
  if (const Result<void> loaded = load_fields(*share, in); !loaded || in.left() > 0)
    throw std::invalid_argument("these are not the bytes of a share");
  share->heard = true;
  restored->push_back(share);
  return share;
}

}  // namespace

std::vector<SharePointer>*& shares_being_restored() {
  thread_local std::vector<SharePointer>* list = nullptr;
  return list;
}

Node& OwnNode::node() const {
  if (!node_) throw std::runtime_error("a node acts only while one of its hooks runs");
  return *node_;
}

double OwnNode::now() const {
  return to_seconds(node().now().time_since_epoch());
}

std::uint64_t OwnNode::seed(std::uint64_t number) const {
  return node().random().fork("python", number).bits64();
}

void OwnNode::train() {
  if (node().training()) throw std::runtime_error("train: the node trains already");
  count_();
  node().train();
}

SharePointer OwnNode::pack() {
  auto packed = std::make_shared<OwnShare>();
  packed->share = node().pack_whole();
  packed->sender = id();
  return packed;
}

void OwnNode::send(const OwnShare& share, const std::vector<NodeId>& peers, Round round,
                   std::uint32_t degree, const std::string& own) {
  for (const NodeId peer : peers)
    if (peer >= nodes() || peer == id())
      throw std::invalid_argument(
          fmt::format("send: node {} cannot tell node {}: there are {}", id(), peer, nodes()));
  if (share.share.dimension == 0)
    throw std::invalid_argument("send: that share was refused, and there is nothing in it");
  if (own.size() > kOwnBytesMax)
    throw std::invalid_argument(
        fmt::format("send: {} bytes of one's own, and {} at most travel with a share", own.size(),
                    kOwnBytesMax));
  Heading heading = node().heading(round, degree);
  heading.own.assign(bytes_in(own).begin(), bytes_in(own).end());
  node().send(heading, share.share, peers);
}

void OwnNode::merge(const std::vector<std::pair<float, SharePointer>>& others) {
  std::vector<Contribution> contributions;
  for (const auto& [weight, share] : others) {
    if (!share->heard) throw std::invalid_argument("merge: only shares that were heard");
    contributions.push_back({.weight = weight, .share = &share->share, .from = share->sender});
  }
  node().merge(contributions);
}

void OwnNode::wake_after(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9))
    throw std::invalid_argument(fmt::format("wake_after: {} seconds is no time", seconds));
  node().wake_after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
}

void OwnNode::finish() {
  (void)node();
  count_();
  node().finish();
}

void bind_own_node(py::module_& module) {
  using namespace py::literals;
  py::class_<OwnShare, SharePointer>(module, "Share",
                                     "What a node tells, as hooks of tessera.Protocol see it.")
      .def_property_readonly("sender", [](const OwnShare& s) { return s.sender; })
      .def_property_readonly("round", [](const OwnShare& s) { return s.heading.round; })
      .def_property_readonly("degree", [](const OwnShare& s) { return s.heading.degree; })
      .def_property_readonly("own", [](const OwnShare& s) { return python_bytes(s.heading.own); })
      .def_property_readonly("age", [](const OwnShare& s) { return s.heading.age; })
      .def_property_readonly(
          "values",
          [](const OwnShare& s) { return array_of(std::span<const float>(s.share.values)); })
      .def("__bytes__", save_share)
      .def_static("from_bytes", load_share, "saved"_a,
                  "What bytes(share) was; in set_state() alone.");
  py::class_<OwnNode, std::shared_ptr<OwnNode>>(
      module, "Node", "What hooks of tessera.Protocol act by; of no use once the hook is over.")
      .def_property_readonly("id", &OwnNode::id)
      .def_property_readonly("nodes", &OwnNode::nodes)
      .def_property_readonly("now", &OwnNode::now)
      .def("peers", &OwnNode::peers, "round"_a = 0)
      .def("seed", &OwnNode::seed, "number"_a)
      .def("train", &OwnNode::train)
      .def("pack", &OwnNode::pack)
      .def("send", &OwnNode::send, "share"_a, "peers"_a, "round"_a = 0, "degree"_a = 0,
           "own"_a = py::bytes())
      .def("merge", &OwnNode::merge, "others"_a)
      .def("wake_after", &OwnNode::wake_after, "seconds"_a)
      .def("finish", &OwnNode::finish)
      .def("refuse", &OwnNode::refuse, "sender"_a, "reason"_a)
      .def("note", &OwnNode::note, "what"_a);
}

}  // namespace tessera
