// What hooks of a protocol written in Python see: the node, with its verbs, and shares. What would
// stop the process elsewhere, as our own mistake, is an exception here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "topology/topology.h"

namespace tessera {

// A share as Python holds it: packed by a node, or heard from one, and then with its heading.
struct OwnShare {
  Share share{};
  Heading heading{};
  NodeId sender = 0;
  bool heard = false;  // It has been looked at, so that it may be merged.

  void fields(Archive& archive) {
    archive(share, heading.round, heading.degree, heading.age, heading.own, sender);
  }
};
using SharePointer = std::shared_ptr<OwnShare>;

// While a checkpoint is read, the shares that are read back go into this list, of this thread: the
// node looks at them before they are believed. Null: none may be.
std::vector<SharePointer>*& shares_being_restored();

// Only while a hook runs.
class OwnNode {
 public:
  // `count` looks how many rounds are done: a node that trains or finishes goes by it.
  OwnNode(Node& node, const Topology& topology, std::function<void()> count)
      : node_(&node), topology_(topology), count_(std::move(count)) {}
  void end() { node_ = nullptr; }

  NodeId id() const { return node().id(); }
  std::uint32_t nodes() const { return topology_.nodes(); }
  std::vector<NodeId> peers(Round round) const { return topology_.peers(id(), round); }
  double now() const;
  std::uint64_t seed(std::uint64_t number) const;

  void train();
  SharePointer pack();
  void send(const OwnShare& share, const std::vector<NodeId>& peers, Round round,
            std::uint32_t degree, const std::string& own);
  void merge(const std::vector<std::pair<float, SharePointer>>& others);
  void wake_after(double seconds);
  void finish();
  void refuse(NodeId from, const std::string& reason) { node().refuse(from, reason); }
  void note(const std::string& what) { node().note(what); }

 private:
  Node& node() const;

  Node* node_;
  const Topology& topology_;
  std::function<void()> count_;
};

}  // namespace tessera
