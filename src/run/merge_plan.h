// The line `merge`: when all nodes average exactly without a server, over which graph, and how
// their models are written meanwhile.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "codec/codec.h"
#include "node/node.h"
#include "protocol/merging.h"

namespace tessera {

struct Plan;

struct MergePlan {
  MergingOptions options{};
  Round every = 0;    // Rounds from one merge to the next, where it is told by rounds;
  Duration period{};  // by time likewise. Neither: one at the end.
  Codec codec{};
  Codec last_codec{};  // Of the last merge: nothing after it averages away what it rounds.
};

struct MergeKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
};
std::span<const MergeKind> merges();

// Of a plan whose protocol has been read; nothing where there is no merge. Throws
// std::invalid_argument.
std::optional<MergePlan> read_merge(const Plan& plan);

// A node's second voice. Whole models, by the weights of the merge's graph whatever the run's rule.
std::optional<MergeParts> make_merge(const Plan& plan, NodeId id, std::size_t dimension);

}  // namespace tessera
