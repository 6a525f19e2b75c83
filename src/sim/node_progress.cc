#include "sim/node_progress.h"

namespace tessera {

NodeProgress::NodeProgress(std::size_t nodes) : known_(nodes), ages_(nodes, 0) {
  if (nodes > 0) nodes_at_[0] = static_cast<std::uint32_t>(nodes);
}

void NodeProgress::note(NodeId node, const Standing& now) {
  ages_[node] = now.age;
  Known& known = known_[node];
  known.loss = now.loss;
  if (now.rounds != known.rounds) {
    if (--nodes_at_[known.rounds] == 0) nodes_at_.erase(known.rounds);
    ++nodes_at_[now.rounds];
    known.rounds = now.rounds;
  }
  if (now.finished == known.finished) return;
  known.finished = now.finished;
  now.finished ? ++finished_ : --finished_;
}

// A node that came back from a crash does rounds again that were told of; they are not news.
bool NodeProgress::tell(NodeId node) {
  Known& known = known_[node];
  if (known.rounds <= known.told) return false;
  known.told = known.rounds;
  return true;
}

void NodeProgress::fields(Archive& archive) {
  for (Known& known : known_) archive(known.told);
}

}  // namespace tessera
