#include "protocol/broadcast.h"

#include <utility>
#include <vector>

#include "topology/mixing.h"

namespace tessera {

void Broadcast::on_start(Node& node) {
  if (options_.ending.begin(node, done_)) node.train();
}

void Broadcast::on_wake(Node& node) {
  if (options_.ending.reached(node, done_)) node.finish();
}

void Broadcast::on_trained(Node& node) {
  node.send(node.heading(done_, options_.graph->degree(node.id())), node.pack_whole(),
            options_.graph->peers(node.id()));
  ++done_;
  if (done_ % options_.every == 0)
    average(node);
  else
    node.end_round();
  if (options_.ending.reached(node, done_)) return node.finish();
  node.train();
}

void Broadcast::average(Node& node) {
  const std::uint32_t degree = options_.graph->degree(node.id());
  std::vector<Contribution> others;
  for (const auto& [from, share] : copies_.in_order())
    others.push_back(
        {static_cast<float>(mixing_weight(degree, options_.graph->degree(from))), share, from});
  node.merge(others);
  if (!options_.stored) copies_.clear();
}

void Broadcast::on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) {
  if (from >= options_.graph->nodes() || !options_.graph->has_edge(node.id(), from))
    return node.refuse(from, "stranger");
  if (!copies_.put({from, 0, heading.age}, std::move(share))) node.refuse(from, "late");
}

void Broadcast::fields(Archive& archive) {
  archive(done_, copies_);
  for (const Pending::Item& copy : copies_.in_order())
    archive.require(copy.from < options_.graph->nodes(), "a saved copy is of no node");
}

}  // namespace tessera
