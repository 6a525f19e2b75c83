// Partial sharing: transform the model, rank its coefficients by how much of their change is still
// untold, send the first of them. With wavelets and a random cut-off this is JWINS (Dhasade et al.,
// ICDCS 2023); without a transform and with a fixed one, top-k.
//
// The published form keeps an accumulator A of changes since a coefficient was last sent and ranks
// |A + change|. Since the transform is linear, that sum telescopes: with c the coefficients of the
// model now and r_k those of the model at the start of the round in which k was last sent (at
// first, of the initial model),
//
//   score_k = c_k - r_k,         on sending k:  r_k <- start_k
//
// where `start` transforms the model as it was after the last merge. One stored vector instead of
// an accumulator that needs two more transforms per round. What travels is c itself, not the
// change.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/archive.h"
#include "base/check.h"
#include "math/select.h"
#include "math/vector_ops.h"
#include "sharing/average.h"
#include "sharing/budget.h"
#include "sharing/sharing.h"
#include "sharing/transform.h"

namespace tessera {
namespace {

// What ranking remembers.
enum class Accumulate {
  kNothing,   // Rank by this round's training change alone.
  kTraining,  // Training changes add up until sent; what averaging changes is never counted.
  kRound,     // All changes add up until sent: the paper's setting.
};

struct PartialOptions {
  Budget budget{};
  Accumulate accumulate = Accumulate::kRound;
  double full_above = 0.5;  // From this fraction on everything is sent, without indices.
};

class Partial final : public Sharing {
 public:
  Partial(std::uint32_t length, std::unique_ptr<Transform> transform, PartialOptions options)
      : transform_(std::move(transform)),
        options_(std::move(options)),
        length_(length),
        dimension_(static_cast<std::uint32_t>(transform_->coefficients())),
        start_(dimension_),
        memory_(options_.accumulate == Accumulate::kNothing ? 0 : dimension_) {}

  void start(std::span<const float> model) override {
    transform_->forward(model, start_);
    if (options_.accumulate == Accumulate::kRound) memory_ = start_;
  }

  std::vector<Share> pack(std::span<const float> model, const Random& random) override {
    CHECK(model.size() == length_);
    Vector coefficients(dimension_);
    transform_->forward(model, coefficients);
    const double fraction = options_.budget.draw(random);
    Share share{.dimension = dimension_};
    if (fraction >= options_.full_above) {
      remember_all_sent();
      share.coordinates = Everything{};
      share.values = std::move(coefficients);
    } else {
      Listed listed{.indices = rank(coefficients, fraction)};
      share.values.reserve(listed.indices.size());
      for (const std::uint32_t k : listed.indices) share.values.push_back(coefficients[k]);
      share.coordinates = std::move(listed);
    }
    return {std::move(share)};
  }

  Result<void> admit(Share& share) const override { return admit_for_averaging(share, dimension_); }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    if (!others.empty()) {
      Vector coefficients(dimension_);
      transform_->forward(model, coefficients);
      average_filling_gaps(coefficients, others);
      transform_->inverse(coefficients, model);
    }
    // Not the averaged coefficients themselves: where a transform has more coefficients than
    // values, as a wavelet has at its borders, those are not quite the transform of any model.
    transform_->forward(model, start_);
  }

  void save(Bytes& out) const override {
    save_vector(start_, out);
    save_vector(memory_, out);
  }
  Result<void> load(ByteReader& in) override {
    if (auto loaded = load_vector(in, start_); !loaded.ok()) return loaded;
    return load_vector(in, memory_);
  }

 private:
  std::size_t count_of(double fraction) const {
    const double count = std::nearbyint(fraction * static_cast<double>(dimension_));
    return std::clamp<std::size_t>(static_cast<std::size_t>(count), 1, dimension_);
  }

  // The coefficients with most untold change; those are told from now on.
  Indices rank(const Vector& coefficients, double fraction) {
    Vector scores(dimension_);
    switch (options_.accumulate) {
      case Accumulate::kNothing:
        subtract(coefficients, start_, scores);
        break;
      case Accumulate::kRound:
        subtract(coefficients, memory_, scores);
        break;
      case Accumulate::kTraining:
        subtract(coefficients, start_, scores);
        add(memory_, scores);
        scores = memory_;
        break;
    }
    Indices chosen;
    select_largest(scores, count_of(fraction), chosen);
    if (options_.accumulate == Accumulate::kRound)
      for (const std::uint32_t k : chosen) memory_[k] = start_[k];
    if (options_.accumulate == Accumulate::kTraining)
      for (const std::uint32_t k : chosen) memory_[k] = 0;
    return chosen;
  }

  void remember_all_sent() {
    if (options_.accumulate == Accumulate::kRound) memory_ = start_;
    if (options_.accumulate == Accumulate::kTraining)
      std::fill(memory_.begin(), memory_.end(), 0.0f);
  }

  std::unique_ptr<Transform> transform_;
  PartialOptions options_;
  std::uint32_t length_, dimension_;
  Vector start_;   // The transform of the model after the last merge.
  Vector memory_;  // r of the opening comment; the accumulator itself for kTraining.
};

std::unique_ptr<Sharing> make_partial(Options& options, const SharingContext& context,
                                      std::string_view transform, std::vector<double> budget,
                                      double full_above) {
  constexpr std::array<std::string_view, 3> kWords = {"no", "training", "round"};
  PartialOptions partial{.budget = Budget::read(options, std::move(budget))};
  const std::string accumulate = options.choice("accumulate", kWords, "round");
  if (accumulate == "no") partial.accumulate = Accumulate::kNothing;
  if (accumulate == "training") partial.accumulate = Accumulate::kTraining;
  partial.full_above = options.number("full_above", full_above, above(0));
  return std::make_unique<Partial>(
      context.dimension, make_transform(transform, options, context.dimension), std::move(partial));
}

}  // namespace

std::unique_ptr<Sharing> make_jwins(Options& options, const SharingContext& context) {
  constexpr std::array<std::string_view, 3> kWords = {"none", "wavelet", "fft"};
  const std::string transform = options.choice("transform", kWords, "wavelet");
  return make_partial(options, context, transform, {0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 1}, 0.5);
}

std::unique_ptr<Sharing> make_topk(Options& options, const SharingContext& context) {
  return make_partial(options, context, "none", {0.37}, 1);
}

}  // namespace tessera
