// Random graphs with given degrees: the configuration model (Bollobás, "A probabilistic proof of an
// asymptotic formula for the number of labelled regular graphs", 1980). A node holds as many stubs
// as it wants edges, and the stubs are paired at random. Some pairs make a loop or a second copy of
// an edge, about (d*d - 1) / 4 of them at degree d whatever the size; they are switched with random
// other pairs. The work is linear in the edges, and what comes out is close to uniform while d*d is
// small beside their number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "topology/graph.h"

namespace tessera {

// The sum of the degrees is even. Nothing where the repair got stuck, which happens in graphs of a
// few nodes: draw again.
std::optional<std::vector<Edge>> draw_pairs(std::span<const std::uint32_t> degrees, Random& random);

// The same with every edge between a node below `split` and one from there on; the degrees of both
// sides have the same sum.
std::optional<std::vector<Edge>> draw_pairs_across(std::span<const std::uint32_t> degrees,
                                                   NodeId split, Random& random);

}  // namespace tessera
