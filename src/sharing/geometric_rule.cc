// The geometric median, the point with the least sum of distances to all copies, own included, by
// smoothed Weiszfeld steps (Pillutla, Kakade and Harchaoui, "Robust aggregation for federated
// learning", 2022). From z = 0,
//
//   z <- sum_i b_i copy_i / sum_i b_i,    b_i = 1 / max(|z - copy_i|, smooth)
//
// a fixed number of times. The protocol's weights play no part.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/ids.h"
#include "math/vector_ops.h"
#include "sharing/rule.h"
#include "sharing/whole_copies.h"

namespace tessera {
namespace {

class Geometric final : public Rule {
 public:
  Geometric(int iterations, double smooth) : iterations_(iterations), smooth_(smooth) {}

  bool compares_peers() const override { return true; }

  void average(std::span<float> x, std::span<const Copy> others) const override {
    if (others.empty()) return;
    const WholeCopies whole(x, others);
    Vector z(whole.where.size(), 0.0f);
    for (int i = 0; i < iterations_; ++i) z = step(z, whole.copies);
    whole.put_back(z, x);
  }

 private:
  Vector step(const Vector& z, const std::vector<Vector>& copies) const {
    std::vector<double> sum(z.size(), 0);
    double all = 0;
    for (const Vector& copy : copies) {
      const double distance = std::sqrt(squared_distance(z, copy));
      if (!std::isfinite(distance)) continue;  // The receiver's own has diverged.
      const double weight = 1 / std::max(distance, smooth_);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += weight * double{copy[k]};
      all += weight;
    }
    if (all == 0) return copies.front();
    Vector next(z.size());
    for (std::size_t k = 0; k < next.size(); ++k) next[k] = static_cast<float>(sum[k] / all);
    return next;
  }

  int iterations_;
  double smooth_;
};

}  // namespace

std::unique_ptr<Rule> make_geometric_rule(Options& options) {
  const auto iterations = static_cast<int>(options.integer("iterations", 8, between(1, 1e4)));
  return std::make_unique<Geometric>(iterations, options.number("smooth", 0.1, above(0)));
}

}  // namespace tessera
