// LEAF's JSON, the layout of FEMNIST, Shakespeare, CelebA and other sets whose samples belong to
// people (Caldas et al., "LEAF: a benchmark for federated settings", 2018):
//
//   {"users": ["w1"], "num_samples": [2], "user_data": {"w1": {"x": [...], "y": [...]}}}
//
// A file can be hundreds of megabytes of numbers, so it is never held as a tree: users are handed
// on one by one as they are read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// A sample's x is a text or a row of numbers, which may be lists of lists; its y is a number or a
// text; the same for all of them.
struct LeafUser {
  std::string name{};
  std::size_t width = 0;                 // Numbers in each x.
  std::vector<std::uint32_t> extents{};  // Of each x: (width), or up to three of nested lists.
  std::vector<float> numbers{};          // Of all x, one after the other.
  std::vector<std::string> texts{};      // Of all x.
  std::vector<double> labels{};
  std::vector<std::string> label_texts{};
  std::size_t samples() const { return labels.size() + label_texts.size(); }
};

using LeafSink = std::function<Result<void>(const LeafUser& user)>;

// Users without samples are passed over: LEAF leaves them in when it thins a set.
Result<void> parse_leaf(ByteSpan json, const LeafSink& sink);

}  // namespace tessera
