// Nearest-neighbour mixing (Allouah et al., "Fixing by mixing", AISTATS 2023): of n copies, own
// included, of which f may be hostile, each becomes the mean of the n - f nearest to it, itself
// among them. What honest nodes with different data tell moves together, and another rule does the
// rest, with the protocol's weights as they were. Copies that are equally near are taken in the
// order of the peers, own first.
#include <algorithm>
#include <vector>

#include "base/ids.h"
#include "sharing/rule.h"
#include "sharing/whole_copies.h"

namespace tessera {
namespace {

class NearestNeighbourMixing final : public Rule {
 public:
  NearestNeighbourMixing(std::size_t hostile, std::shared_ptr<const Rule> then)
      : hostile_(hostile), then_(std::move(then)) {}

  bool compares_peers() const override { return true; }
  bool weighs() const override { return then_->weighs(); }

  void average(std::span<float> x, std::span<const Copy> others) const override {
    if (others.empty()) return;
    const WholeCopies whole(x, others);
    std::vector<Vector> mixed = mix(whole.copies);
    std::vector<Copy> peers;
    for (std::size_t j = 1; j < mixed.size(); ++j)
      peers.push_back({.weight = whole.weights[j - 1], .values = mixed[j]});
    then_->average(mixed.front(), peers);
    whole.put_back(mixed.front(), x);
  }

 private:
  std::vector<Vector> mix(const std::vector<Vector>& copies) const {
    const std::size_t near = copies.size() - hostile_among(copies.size(), hostile_);
    std::vector<Vector> mixed;
    for (const std::vector<double>& distances : squared_distances(copies)) {
      std::vector<std::size_t> chosen = smallest(distances, near);
      std::sort(chosen.begin(), chosen.end());  // The order of the sum.
      mixed.push_back(mean_of(copies, chosen));
    }
    return mixed;
  }

  std::size_t hostile_;
  std::shared_ptr<const Rule> then_;
};

}  // namespace

std::unique_ptr<Rule> make_nnm_rule(Options& options) {
  const auto hostile = static_cast<std::size_t>(options.integer("hostile", 1, between(1, 1e6)));
  std::shared_ptr<const Rule> then = make_rule(options.text("then", "trimmed"));
  if (!then) options.refuse("then", "name the rule that follows, such as trimmed or median");
  return std::make_unique<NearestNeighbourMixing>(hostile, std::move(then));
}

}  // namespace tessera
