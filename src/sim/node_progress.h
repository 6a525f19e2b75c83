// How far the nodes are: rounds completed, models' ages, who has finished. Kept up to date from one
// event to the next, so that nothing that is asked often looks at every node.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"

namespace tessera {

struct Standing {
  Round rounds = 0;  // Completed.
  std::uint64_t age = 0;
  float loss = 0;  // Of the last training.
  bool finished = false, diverged = false;
  void fields(Archive& archive) { archive(rounds, age, loss, finished, diverged); }
};

class NodeProgress {
 public:
  explicit NodeProgress(std::size_t nodes);

  void note(NodeId node, const Standing& now);
  // Whether the node has completed a round that was not told of before; asking tells.
  bool tell(NodeId node);

  Round rounds(NodeId node) const { return known_[node].rounds; }
  std::uint64_t age(NodeId node) const { return ages_[node]; }
  float loss(NodeId node) const { return known_[node].loss; }
  bool finished(NodeId node) const { return known_[node].finished; }
  bool any_finished() const { return finished_ > 0; }
  bool all_finished() const { return finished_ == known_.size(); }
  Round fastest() const { return nodes_at_.empty() ? 0 : nodes_at_.rbegin()->first; }
  Round slowest() const { return nodes_at_.empty() ? 0 : nodes_at_.begin()->first; }

  // Only what was told: how far each node is, its own state says, and is noted after loading.
  void fields(Archive& archive);

 private:
  struct Known {
    Round rounds = 0, told = 0;
    float loss = 0;
    bool finished = false;
  };
  std::vector<Known> known_;
  std::vector<std::uint64_t> ages_;          // Apart: every arrival looks its sender's up.
  std::map<Round, std::uint32_t> nodes_at_;  // How many nodes have done so many rounds.
  std::size_t finished_ = 0;
};

}  // namespace tessera
