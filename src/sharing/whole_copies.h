// Copies as whole vectors, for rules that compare peers with one another instead of going
// coordinate by coordinate. They are of the coordinates that anyone tells; where a peer is silent
// its copy has the receiver's own value. A copy with a value that is not finite is left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sharing/rule.h"

namespace tessera {

struct WholeCopies {
  WholeCopies(std::span<const float> x, std::span<const Copy> others);
  void put_back(std::span<const float> values, std::span<float> x) const;

  Indices where{};               // The coordinates they are of, ascending.
  std::vector<Vector> copies{};  // The receiver's first, then the peers' in their order.
  std::vector<float> weights{};  // The protocol's, of the peers alone.
};

// By row and column: of every copy to every other, and zero to itself.
std::vector<std::vector<double>> squared_distances(const std::vector<Vector>& copies);

// The mean of the copies chosen, summed in double in the order of `chosen`.
Vector mean_of(const std::vector<Vector>& copies, std::span<const std::size_t> chosen);

// The numbers of the `count` smallest scores; equal ones go to the lower number.
std::vector<std::size_t> smallest(std::span<const double> scores, std::size_t count);

// How many of `copies` may be taken for hostile: fewer than half, however many were named.
inline std::size_t hostile_among(std::size_t copies, std::size_t named) {
  return std::min(named, (copies - 1) / 2);
}

}  // namespace tessera
