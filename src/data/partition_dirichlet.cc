// The partition `dirichlet`: each class divided by random shares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "data/partition_kinds.h"
#include "data/views.h"

namespace tessera {
namespace {

constexpr int kTries = 100;
constexpr double kClosed = -std::numeric_limits<double>::infinity();

std::vector<Indices> by_class(const LoadedData& data) {
  const std::vector<std::uint32_t> labels = labels_of(*data.train, data.task);
  std::vector<Indices> classes(data.task.classes);
  for (std::uint32_t i = 0; i < labels.size(); ++i) classes[labels[i]].push_back(i);
  return classes;
}

// Shares that sum to one, from logarithms whose exponentials may all be too small for a double.
std::vector<double> shares_of(std::vector<double> logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (double& x : logs) sum += x = std::exp(x - largest);
  for (double& x : logs) x /= sum;
  return logs;
}

// Deals one class by the shares of the nodes. A node that already has its even part of the whole
// gets none of it, which keeps the sizes within reason while the classes stay uneven.
void deal_class(Indices samples, std::size_t even_part, double alpha, Random random,
                std::vector<Indices>& nodes) {
  if (samples.empty()) return;
  random.shuffle(std::span(samples));
  std::vector<double> logs;
  for (const Indices& own : nodes) {
    const double draw = log_gamma_draw(alpha, random);
    logs.push_back(own.size() < even_part ? draw : kClosed);
  }
  std::size_t last_open = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (logs[node] != kClosed) last_open = node;
  const std::vector<double> shares = shares_of(std::move(logs));
  const auto count = static_cast<double>(samples.size());
  double sum = 0;
  std::size_t begin = 0;
  for (std::size_t node = 0; node <= last_open; ++node) {
    sum += shares[node];
    // What rounding leaves over falls to the last node, and no sum of shares passes the end.
    const std::size_t end =
        node == last_open ? samples.size() : static_cast<std::size_t>(std::min(sum, 1.0) * count);
    for (; begin < end; ++begin) nodes[node].push_back(samples[begin]);
  }
}

// Each class is divided among the nodes by shares drawn from Dirichlet(alpha) (Hsu et al.,
// "Measuring the effects of non-identical data distribution", 2019), with the balancing of Li et
// al., "Federated learning on non-IID data silos" (2022). Drawn again until every node has `least`
// samples.
Partition deal_dirichlet(const LoadedData& data, std::uint32_t nodes, double alpha,
                         std::size_t least, const Random& random) {
  require_classes(data, "dirichlet");
  const std::vector<Indices> classes = by_class(data);
  const std::size_t even_part = (data.train->size() + nodes - 1) / nodes;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const Random root = random.fork("attempt", static_cast<std::uint64_t>(attempt));
    Partition partition{.train = std::vector<Indices>(nodes)};
    for (std::size_t c = 0; c < classes.size(); ++c)
      deal_class(classes[c], even_part, alpha, root.fork("class", c), partition.train);
    const bool enough = std::all_of(partition.train.begin(), partition.train.end(),
                                    [&](const Indices& own) { return own.size() >= least; });
    if (enough) return partition;
  }
  throw std::invalid_argument(
      fmt::format("dirichlet: with alpha={} some of {} nodes had fewer than {} samples in each of "
                  "{} draws; use a larger alpha or fewer nodes{}",
                  alpha, nodes, least, kTries, least > 1 ? ", or a smaller least" : ""));
}

}  // namespace

double log_gamma_draw(double shape, Random& random) {
  // Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). Below one:
  // Gamma(a) = Gamma(a + 1) U^(1/a).
  if (shape < 1)
    return log_gamma_draw(shape + 1, random) + std::log(1.0 - random.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double v = 1 + c * x;
    const double u = 1.0 - random.uniform();
    if (v <= 0) continue;
    const double cube = v * v * v;
    if (std::log(u) < 0.5 * x * x + d * (1 - cube + std::log(cube))) return std::log(d * cube);
  }
}

Deal read_dirichlet(Options& options) {
  const double alpha = options.number("alpha", 0.1, between(1e-6, 1e6));
  const auto least = static_cast<std::size_t>(options.integer("least", 1, between(1, 1e9)));
  return [alpha, least](const LoadedData& data, std::uint32_t nodes, const Random& random) {
    return deal_dirichlet(data, nodes, alpha, least, random);
  };
}

}  // namespace tessera
