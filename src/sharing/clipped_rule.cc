// ClippedGossip (He, Karimireddy and Jaggi, "Byzantine-robust decentralized learning via
// ClippedGossip", 2022): the weighted mean, with what a peer asks for cut to a radius.
//
//   x <- x + sum_j w_j clip(copy_j - x, r),    clip(v, r) = v min(1, r / |v|)
//
// With radius=auto, r is the largest distance to a peer after the `hostile` largest are set aside:
// the authors' released code with its one hostile neighbour. A peer that is alone sets the radius
// itself. What a peer did not tell counts as the receiver's own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "sharing/rule.h"

namespace tessera {
namespace {

class Clipped final : public Rule {
 public:
  Clipped(std::optional<double> radius, std::size_t hostile) : radius_(radius), hostile_(hostile) {}

  bool compares_peers() const override { return !radius_; }
  bool weighs() const override { return true; }

  void average(std::span<float> x, std::span<const Copy> others) const override {
    if (others.empty()) return;
    std::vector<double> distances;
    for (const Copy& other : others) distances.push_back(distance(x, other));
    const double radius = radius_ ? *radius_ : adapted(distances);
    std::vector<double> change(x.size(), 0);
    for (std::size_t j = 0; j < others.size(); ++j) {
      if (!std::isfinite(distances[j])) continue;
      const double scale = distances[j] > radius ? radius / distances[j] : 1;
      add_pull(change, double{others[j].weight} * scale, others[j], x);
    }
    for (std::size_t k = 0; k < x.size(); ++k)
      if (change[k] != 0) x[k] = static_cast<float>(double{x[k]} + change[k]);
  }

 private:
  static std::size_t place(const Copy& copy, std::size_t k) {
    return copy.everything ? k : copy.indices[k];
  }

  static double distance(std::span<const float> x, const Copy& copy) {
    double sum = 0;
    for (std::size_t k = 0; k < copy.values.size(); ++k) {
      const double gap = double{copy.values[k]} - double{x[place(copy, k)]};
      sum += gap * gap;
    }
    return std::sqrt(sum);
  }

  static void add_pull(std::vector<double>& change, double weight, const Copy& copy,
                       std::span<const float> x) {
    for (std::size_t k = 0; k < copy.values.size(); ++k) {
      const std::size_t at = place(copy, k);
      change[at] += weight * (double{copy.values[k]} - double{x[at]});
    }
  }

  double adapted(std::vector<double> distances) const {
    for (double& distance : distances)
      if (std::isnan(distance)) distance = std::numeric_limits<double>::infinity();
    std::sort(distances.begin(), distances.end());
    std::size_t last = distances.size() - 1 - std::min(hostile_, distances.size() - 1);
    while (last > 0 && std::isinf(distances[last])) --last;
    return distances[last];
  }

  std::optional<double> radius_;  // None: adapted to the distances of each round.
  std::size_t hostile_;
};

}  // namespace

std::unique_ptr<Rule> make_clipped_rule(Options& options) {
  std::optional<double> radius;
  if (options.text("radius", "auto") != "auto") radius = options.number("radius", 1, above(0));
  const auto hostile = static_cast<std::size_t>(options.integer("hostile", 1, between(1, 1e6)));
  return std::make_unique<Clipped>(radius, hostile);
}

}  // namespace tessera
