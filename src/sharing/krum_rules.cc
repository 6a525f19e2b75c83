// Krum and multi-Krum (Blanchard et al., "Machine learning with adversaries: Byzantine tolerant
// gradient descent", NeurIPS 2017). Of n copies, own included, f may be hostile. A copy's score is
// the sum of its squared distances to the n - f copies nearest to it, itself among them. Krum takes
// the copy with the smallest score, multi-Krum the mean of the n - f smallest. The protocol's
// weights play no part. Equal scores go to the receiver, then to the peer that comes first.
#include <algorithm>
#include <vector>

#include "base/ids.h"
#include "sharing/rule.h"
#include "sharing/whole_copies.h"

namespace tessera {
namespace {

enum class Keep { kOne, kAllButHostile };

class Krum final : public Rule {
 public:
  Krum(std::size_t hostile, Keep keep) : hostile_(hostile), keep_(keep) {}

  bool compares_peers() const override { return true; }

  void average(std::span<float> x, std::span<const Copy> others) const override {
    if (others.empty()) return;
    const WholeCopies whole(x, others);
    const std::size_t near = whole.copies.size() - hostile_among(whole.copies.size(), hostile_);
    std::vector<double> scores;
    for (std::vector<double>& distances : squared_distances(whole.copies)) {
      std::sort(distances.begin(), distances.end());
      double score = 0;
      for (std::size_t k = 0; k < near; ++k) score += distances[k];
      scores.push_back(score);
    }
    const auto chosen = smallest(scores, keep_ == Keep::kOne ? 1 : near);
    whole.put_back(mean_of(whole.copies, chosen), x);
  }

 private:
  std::size_t hostile_;
  Keep keep_;
};

std::unique_ptr<Rule> make(Options& options, Keep keep) {
  return std::make_unique<Krum>(
      static_cast<std::size_t>(options.integer("hostile", 1, between(1, 1e6))), keep);
}

}  // namespace

std::unique_ptr<Rule> make_krum_rule(Options& options) {
  return make(options, Keep::kOne);
}

std::unique_ptr<Rule> make_multikrum_rule(Options& options) {
  return make(options, Keep::kAllButHostile);
}

}  // namespace tessera
