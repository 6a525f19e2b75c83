// Max-min fair sharing: every flow gets as much as it can without taking from one that has less.
// It is what TCP connections of equal round-trip times come to, roughly, and what SimGrid computes.
//
// Rates are max-min fair exactly when no link carries more than its capacity and every flow has a
// bottleneck: a full link (or its own limit) on which nobody is faster. So a link can be described
// by one number, its *level*: the rate of the flows it holds back, and infinity where it holds back
// none. A flow's rate is then the lowest of the levels it crosses and its own limit.
//
//   Links a = 10, b = 4; flows x over a, y over a and b, z over b.
//   b is the tightest: y and z get 2 each. x gets what y leaves of a: 8.
//   Levels: a = 8, b = 2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tessera {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The level of one link whose flows are limited elsewhere to `limits`: the highest L with
// sum of min(L, limit) <= capacity, or kUnlimited when the link is not filled.
double fair_level(double capacity, std::span<const double> limits);

// A flow that crosses two links, as in a star: the sender's up-link and the receiver's down-link.
struct SharedFlow {
  std::array<std::uint32_t, 2> links{};
  double limit = kUnlimited;
};

namespace plain {

// Progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): raise all rates together;
// whenever a link is full, or a flow at its limit, its flows stay where they are. Every step looks
// at everything, so it costs steps x (links + flows): an oracle for tests.
std::vector<double> max_min_rates(std::span<const double> capacities,
                                  std::span<const SharedFlow> flows);

}  // namespace plain
}  // namespace tessera
