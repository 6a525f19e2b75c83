// Full sharing and random sampling. D-PSGD (Lian et al., 2017) and Epidemic Learning (de Vos et
// al., 2023) send everything, which is a budget of one. With less, each coordinate travels with
// chance `budget`; sender and receivers draw the same mask, so that only its seed is sent. No
// memory: what is not sent today is as likely to be sent tomorrow.
#include "sharing/average.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

class RandomSampling final : public Sharing {
 public:
  RandomSampling(const SharingContext& context, double budget)
      : dimension_(context.dimension), budget_(budget), rule_(rule_or(context, "gaps")) {}

  void start(std::span<const float>) override {}

  std::vector<Share> pack(std::span<const float> model, const Random& random) override {
    Share share{.dimension = dimension_};
    if (budget_ >= 1) {
      share.coordinates = Everything{};
      share.values.assign(model.begin(), model.end());
      return {std::move(share)};
    }
    const Drawn drawn{.seed = random.fork("mask").bits64(), .threshold = threshold_of(budget_)};
    const Indices indices = draw_indices(drawn, dimension_);
    share.coordinates = drawn;
    share.values.reserve(indices.size());
    for (const std::uint32_t i : indices) share.values.push_back(model[i]);
    return {std::move(share)};
  }

  Result<HeardShare> admit(HeardShare share) const override {
    return admit_for_averaging(std::move(share), dimension_);
  }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    average(*rule_, model, others);
  }

 private:
  std::uint32_t dimension_;
  double budget_;
  std::shared_ptr<const Rule> rule_;
};

}  // namespace

std::unique_ptr<Sharing> make_full(Options&, const SharingContext& context) {
  return std::make_unique<RandomSampling>(context, 1.0);
}

std::unique_ptr<Sharing> make_random_sampling(Options& options, const SharingContext& context) {
  const double budget = options.number("budget", 0.37, above_up_to(0, 1));
  return std::make_unique<RandomSampling>(context, budget);
}

}  // namespace tessera
