#include "topology/erdos_renyi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "topology/topology_kinds.h"

namespace tessera {
namespace {

constexpr double kChanceMin = 0.01;

// How many pairs to pass over before the next edge: k or more with probability (1 - p)^k. The
// powers (1 - p)^(2^i) are multiplied together rather than taking a logarithm, whose last bit
// differs between C libraries: two live nodes would then disagree about their graph.
class Skips {
 public:
  explicit Skips(double p) {
    powers_[0] = 1 - p;
    for (std::size_t i = 1; i < powers_.size(); ++i) powers_[i] = powers_[i - 1] * powers_[i - 1];
  }
  std::uint64_t draw(Random& random) const {
    const double u = random.uniform();
    double power = 1;
    std::uint64_t k = 0;
    for (std::size_t i = powers_.size(); i-- > 0;) {
      if (power * powers_[i] <= u) continue;
      power *= powers_[i];
      k += std::uint64_t{1} << i;
    }
    return k;
  }

 private:
  std::array<double, 40> powers_{};
};

// Batagelj and Brandes, "Efficient generation of large random networks" (2005): only edges cost
// time, not pairs. The pairs are passed in the order (1,0), (2,0), (2,1), (3,0), ...
Graph attempt_erdos_renyi(std::uint32_t nodes, const Skips& skips, Random random) {
  std::vector<Edge> edges;
  NodeId a = 1;
  std::uint64_t b = 0;
  for (;;) {
    b += skips.draw(random);
    while (a < nodes && b >= a) b -= a++;
    if (a >= nodes) break;
    edges.push_back({a, static_cast<NodeId>(b++)});
  }
  return Graph(nodes, edges);
}

double read_probability(Options& options, std::uint32_t nodes) {
  const bool has_degree = options.has("degree");
  if (has_degree == options.has("p"))
    options.refuse(has_degree ? "degree" : "p",
                   has_degree ? "give p or degree, not both"
                              : "give p, such as p=0.1, or the mean degree, such as degree=8");
  if (!has_degree) return options.number("p", 0, above_up_to(0, 1));
  const double degree = options.number("degree", 0, above(0));
  if (degree > nodes - 1.0 && nodes > 1)
    options.refuse("degree", fmt::format("{} peers in the mean need more than {} nodes; use a "
                                         "smaller degree or more nodes",
                                         degree, nodes));
  return nodes > 1 ? degree / (nodes - 1.0) : 1;
}

}  // namespace

// Node 0 is in a component of k nodes when k - 1 others are chosen, the k are connected and none of
// their k (n - k) edges to the rest exists. Over all k < n,
//   P(n) = 1 - sum_k C(n - 1, k - 1) P(k) (1 - p)^(k (n - k)).
// The sum loses digits as n grows; but in large graphs what separates is lone nodes, of which there
// are none with probability exp(-n (1 - p)^(n - 1)). At 30 nodes the two differ by 0.013 at most.
double chance_connected(std::uint32_t nodes, double p) {
  constexpr std::uint32_t kExactMax = 30;
  if (nodes > kExactMax) return std::exp(-(nodes * std::pow(1 - p, nodes - 1.0)));
  std::vector<double> chance(nodes + std::size_t{1}, 1.0);
  for (std::uint32_t n = 2; n <= nodes; ++n) {
    double choices = 1;
    for (std::uint32_t k = 1; k < n; ++k) {
      chance[n] -= choices * chance[k] * std::pow(1 - p, k * (n - k));
      choices *= static_cast<double>(n - k) / k;
    }
  }
  return chance[nodes];
}

Scheme make_erdos_renyi(Options& options, std::uint32_t nodes) {
  const double p = read_probability(options, nodes);
  options.done();
  require_few_edges(options, 0.5 * nodes * (nodes - 1.0) * p);
  const double chance = chance_connected(nodes, p);
  if (chance < kChanceMin) {
    // A mean degree of ln n + 1 connects two graphs of three.
    const double enough = std::min(std::log(nodes) + 1, nodes - 1.0);
    throw std::invalid_argument(fmt::format(
        "erdos-renyi: {} nodes with {:.3g} peers in the mean are hardly ever connected (chance "
        "{:.1g}); use degree={:.3g} or p={:.3g}, or more",
        nodes, p * (nodes - 1.0), chance, std::ceil(enough * 10) / 10,
        std::min(1.0, std::ceil(enough / (nodes - 1.0) * 1000) / 1000)));
  }
  return [nodes, skips = Skips(p)](const Random& random) {
    return first_connected(random,
                           [&](Random own) { return attempt_erdos_renyi(nodes, skips, own); });
  };
}

}  // namespace tessera
