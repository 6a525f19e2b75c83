// The noun of the system: a Share is values of some coordinates of the sender's model, or of its
// wavelet coefficients. Sharings make and merge them, codecs turn them into bytes and back,
// protocols decide whom to send them to and write a Heading beside them. Which coordinates they are
// is told in one of five ways, three of which cost next to nothing on the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "base/archive.h"
#include "base/ids.h"

namespace tessera {

// All coordinates, in order.
struct Everything {
  void fields(Archive&) {}
  bool operator==(const Everything&) const = default;
};

// These ones. Strictly increasing, below the share's dimension.
struct Listed {
  Indices indices{};
  void fields(Archive& archive) { archive(indices); }
  bool operator==(const Listed&) const = default;
};

// A random mask that both sides draw: coordinate i is in when the upper half of splitmix64(seed, i)
// is below the threshold, that is with chance threshold / 2^32.
struct Drawn {
  std::uint64_t seed = 0;
  std::uint32_t threshold = 0;
  void fields(Archive& archive) { archive(seed, threshold); }
  bool operator==(const Drawn&) const = default;
};

// Piece `id` of `count`, of a layout that sender and receiver derive from the same seed.
struct Fragment {
  std::uint32_t id = 0;
  std::uint32_t count = 1;
  std::uint64_t layout_seed = 0;
  void fields(Archive& archive) { archive(id, count, layout_seed); }
  bool operator==(const Fragment&) const = default;
};

// These ones, and the values are changes of what the sender told of them before. A sender numbers
// its changes, so that a receiver knows whether it has heard them all.
struct Changes {
  Indices indices{};
  std::uint32_t number = 0;
  void fields(Archive& archive) { archive(indices, number); }
  bool operator==(const Changes&) const = default;
};

// The order of the alternatives is their number on the wire: append, never reorder.
using Coordinates = std::variant<Everything, Listed, Drawn, Fragment, Changes>;

struct Share {
  std::uint32_t dimension = 0;  // Length of the vector the coordinates point into.
  Coordinates coordinates{};
  Vector values{};  // One per coordinate, in their order.
  void fields(Archive& archive);
  bool operator==(const Share&) const = default;
};

// A share that was heard. Nobody changes it, so all who heard the same message may hold the same.
using HeardShare = std::shared_ptr<const Share>;

// The indices of Listed and of Changes; null for the others, which list none.
const Indices* listed_in(const Coordinates& coordinates);

// Whether the parts of a share fit each other: a sender's own mistake, or a file's. Whether a mask
// or a fragment has as many coordinates as there are values, only the receiver's sharing can tell.
bool is_valid(const Share& share);

// The threshold nearest to a fraction of [0, 1). A fraction of one is Everything.
std::uint32_t threshold_of(double fraction);

// The coordinates a mask stands for, ascending. Takes time in proportion to the dimension, so a
// receiver asks only after it has found the dimension to be its own, and then refuses a share whose
// values are not as many.
Indices draw_indices(const Drawn& drawn, std::uint32_t dimension);

}  // namespace tessera
