// The partition `dirichlet`: each class divided by random shares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "data/partition_kinds.h"
#include "data/views.h"

namespace tessera {
namespace {

constexpr int kTries = 100;
constexpr double kClosed = -std::numeric_limits<double>::infinity();

struct DirichletOptions {
  double alpha = 0.1;
  std::size_t samples_min = 1;  // Of each node.
  std::uint32_t group = 0;      // How many nodes share out a part of the samples; 0: all of them.
  bool even = false;            // Whether all lists, put together, are cut again into equal ones.
};

// Shuffled where there is more than one group: each has its nodes' part.
Indices samples_in_order(std::size_t count, bool shuffled, Random random) {
  Indices samples(count);
  std::iota(samples.begin(), samples.end(), 0u);
  if (shuffled) random.shuffle(std::span(samples));
  return samples;
}

std::vector<Indices> by_class(std::span<const std::uint32_t> samples,
                              std::span<const std::uint32_t> labels, std::uint32_t classes) {
  std::vector<Indices> own(classes);
  for (const std::uint32_t i : samples) own[labels[i]].push_back(i);
  return own;
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
// al., "Federated learning on non-IID data silos" (2022). Drawn again until every node has
// `samples_min` samples.
std::vector<Indices> deal_group(const std::vector<Indices>& classes, std::size_t even_part,
                                std::uint32_t nodes, const DirichletOptions& options,
                                const Random& random) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const Random root = random.fork("attempt", static_cast<std::uint64_t>(attempt));
    std::vector<Indices> lists(nodes);
    for (std::size_t c = 0; c < classes.size(); ++c)
      deal_class(classes[c], even_part, options.alpha, root.fork("class", c), lists);
    const bool enough = std::all_of(lists.begin(), lists.end(), [&](const Indices& own) {
      return own.size() >= options.samples_min;
    });
    if (enough) return lists;
  }
  const std::string who =
      options.group == 0 ? fmt::format("{} nodes", nodes)
                         : fmt::format("the {} nodes of a group (group={})", nodes, options.group);
  throw std::invalid_argument(
      fmt::format("dirichlet: with alpha={} some of {} had fewer than {} samples in each of {} "
                  "draws; use a larger alpha or fewer nodes{}",
                  options.alpha, who, options.samples_min, kTries,
                  options.samples_min > 1 ? ", or a smaller samples_min" : ""));
}

// The lists one after the other, cut into as many whose lengths differ by one at most.
std::vector<Indices> cut_evenly(const std::vector<Indices>& lists) {
  Indices all;
  for (const Indices& own : lists) all.insert(all.end(), own.begin(), own.end());
  std::vector<Indices> even;
  std::size_t begin = 0;
  for (std::size_t node = 0; node < lists.size(); ++node) {
    const std::size_t end =
        begin + all.size() / lists.size() + (node < all.size() % lists.size() ? 1 : 0);
    even.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(begin),
                      all.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return even;
}

// In groups, as Lin's and Vogels's code deals (epfml/relaysgd): nodes 0 to group - 1 share out the
// first part of the shuffled samples among themselves, the next ones the next.
Partition deal_dirichlet(const LoadedData& data, std::uint32_t nodes,
                         const DirichletOptions& options, const Random& random) {
  require_classes(data, "dirichlet");
  const std::size_t count = data.train->size();
  const std::vector<std::uint32_t> labels = labels_of(*data.train, data.task);
  const std::uint32_t group = options.group == 0 ? nodes : std::min(options.group, nodes);
  const bool whole = group == nodes;
  const Indices samples = samples_in_order(count, !whole, random.fork("groups"));
  Partition partition;
  for (std::uint32_t first = 0; first < nodes; first += group) {
    const std::uint32_t members = std::min(group, nodes - first);
    const std::size_t begin = count * first / nodes, end = count * (first + members) / nodes;
    const std::vector<Indices> classes =
        by_class(std::span(samples).subspan(begin, end - begin), labels, data.task.classes);
    std::vector<Indices> lists = deal_group(classes, (end - begin + members - 1) / members, members,
                                            options, whole ? random : random.fork("group", first));
    std::move(lists.begin(), lists.end(), std::back_inserter(partition.train));
  }
  if (options.even) partition.train = cut_evenly(partition.train);
  return partition;
}

// `least` was its name in earlier experiments.
std::size_t read_samples_min(Options& options) {
  const bool earlier = options.has("least");
  if (earlier && options.has("samples_min"))
    options.refuse("least", "samples_min says the same: leave least out");
  return static_cast<std::size_t>(
      options.integer(earlier ? "least" : "samples_min", 1, between(1, 1e9)));
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
  const DirichletOptions read{
      .alpha = options.number("alpha", 0.1, between(1e-6, 1e6)),
      .samples_min = read_samples_min(options),
      .group = static_cast<std::uint32_t>(options.integer("group", 0, between(0, 1e6))),
      .even = options.yes("even", false)};
  return [read](const LoadedData& data, std::uint32_t nodes, const Random& random) {
    return deal_dirichlet(data, nodes, read, random);
  };
}

}  // namespace tessera
