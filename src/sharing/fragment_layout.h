// Which coordinates travel together where a model is sent in pieces: DivShare's layout, fixed for
// the run and the same on every node, because all derive it from one seed. No index is ever sent.
//
// The coordinates of each tensor, put in random order, are cut into `count` parts of equal length,
// the last of which takes what is left over; fragment i is part i of every tensor, so that each
// fragment holds a piece of every layer. docs/wire_format.md has the rule in full.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"

namespace tessera {

struct LayoutKey {
  std::uint32_t dimension = 0;
  std::vector<std::uint32_t> tensors{};  // Lengths, in order, summing to the dimension; empty: one.
  std::uint32_t count = 1;
  std::uint64_t seed = 0;
  bool operator==(const LayoutKey&) const = default;
};

class FragmentLayout {
 public:
  explicit FragmentLayout(LayoutKey key);

  // Nodes of one process share a layout: memory is the model's once, not once per node.
  static std::shared_ptr<const FragmentLayout> shared(const LayoutKey& key);

  const LayoutKey& key() const { return key_; }
  std::uint32_t count() const { return key_.count; }
  // Ascending. Empty where there are fewer coordinates than fragments.
  std::span<const std::uint32_t> fragment(std::uint32_t id) const {
    return std::span(indices_).subspan(begins_[id], begins_[id + 1] - begins_[id]);
  }

 private:
  LayoutKey key_;
  Indices indices_;                  // Fragment by fragment.
  std::vector<std::size_t> begins_;  // Where each fragment begins in indices_; one more at the end.
};

}  // namespace tessera
