// LEAF's JSON, the layout of FEMNIST, Shakespeare, CelebA and other sets whose samples belong to
// people (Caldas et al., "LEAF: a benchmark for federated settings", 2018):
//
//   {"users": ["w1"], "num_samples": [2], "user_data": {"w1": {"x": [...], "y": [...]}}}
//
// A file can be hundreds of megabytes of numbers, so it is never held as a tree: users are handed
// on one by one as they are read.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "data/stores.h"

namespace tessera {

// A sample's x is a row of numbers or a text, its y a number or a text; the same for all of them.
struct LeafUser {
  std::string name{};
  std::size_t width = 0;             // Numbers in each x.
  std::vector<float> numbers{};      // Of all x, one after the other.
  std::vector<std::string> texts{};  // Of all x.
  std::vector<double> labels{};
  std::vector<std::string> label_texts{};
  std::size_t samples() const { return labels.size() + label_texts.size(); }
};

using LeafSink = std::function<Result<void>(const LeafUser& user)>;

// Users without samples are passed over: LEAF leaves them in when it thins a set.
Result<void> parse_leaf(ByteSpan json, const LeafSink& sink);

// Reads DIR/train/*.json and DIR/test/*.json in the order of their names and lets `append` put each
// user's samples into a half; this numbers the users, in the order they are met.
struct LeafHalves {
  ByteHalf train{};
  ByteHalf test{};
};
using LeafAppend = std::function<Result<void>(const LeafUser& user, ByteHalf& half)>;
Result<LeafHalves> read_leaf(const std::filesystem::path& dir, const LeafAppend& append);

// For `append`: sample `i` of a user as people find it, "user 'w1', sample 3".
std::string leaf_place(const LeafUser& user, std::size_t i);

// Checks that labels are numbers and classes below `classes`, and adds them to the half.
Result<void> append_labels(const LeafUser& user, std::uint32_t classes, ByteHalf& half);

}  // namespace tessera
