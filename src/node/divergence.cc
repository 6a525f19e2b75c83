#include "node/divergence.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera {

void throw_divergence(NodeId node, Round done, Instant now) {
  throw Divergence(fmt::format(
      "node {}'s model has diverged by round {}, at {:.3f} s (training made its values grow out of "
      "all bounds): lower the learning rate, or CHOCO's step",
      node, done + 1, to_seconds(now.time_since_epoch())));
}

void refuse_divergence(const Node& node, Instant now) {
  if (node.diverged()) throw_divergence(node.id(), node.rounds_done(), now);
}

void refuse_divergence(NodeId node, Round round, double loss, std::string_view which) {
  if (std::isfinite(loss)) return;
  throw Divergence(fmt::format(
      "node {}'s model has diverged by round {} (its {} loss is not a finite number): lower the "
      "learning rate, or CHOCO's step",
      node, round, which));
}

}  // namespace tessera
