// CHOCO-SGD (Koloskova, Stich and Jaggi, 2019). Every node keeps a public copy x^ of its model,
// which its neighbours can follow because only compressed differences are ever added to it, and s,
// the weighted sum of the neighbours' copies and its own. Per round, with x the trained model:
//
//   q = topk(x - x^)            sent to all neighbours
//   x^ += q
//   s  += sum_j w_ij q_j + w_ii q
//   x  += step (s - x^)
//
// Both start at zero, as in the reference implementation, so the first rounds build the copies up.
// Neighbours must hold the same copies to the bit: no lossy codec, no lost message, no redrawn
// graph.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/check.h"
#include "math/select.h"
#include "math/vector_ops.h"
#include "sharing/average.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

class Choco final : public Sharing {
 public:
  Choco(std::uint32_t dimension, double budget, float step)
      : dimension_(dimension),
        count_(
            std::max<std::size_t>(1, static_cast<std::size_t>(std::nearbyint(budget * dimension)))),
        step_(step),
        copy_(dimension, 0.0f),
        sum_(dimension, 0.0f),
        told_(dimension, 0.0f) {}

  void start(std::span<const float>) override {}

  std::vector<Share> pack(std::span<const float> model, const Random&) override {
    Vector difference(dimension_);
    subtract(model, copy_, difference);
    Listed listed;
    select_largest(difference, count_, listed.indices);
    // Nothing is told by a zero: at agreement a share is empty.
    std::erase_if(listed.indices, [&](std::uint32_t k) { return difference[k] == 0; });
    Share share{.dimension = dimension_};
    std::fill(told_.begin(), told_.end(), 0.0f);
    for (const std::uint32_t k : listed.indices) {
      share.values.push_back(difference[k]);
      told_[k] = difference[k];
    }
    add(copy_, told_);
    share.coordinates = std::move(listed);
    return {std::move(share)};
  }

  Result<HeardShare> admit(HeardShare share) const override {
    if (!std::holds_alternative<Listed>(share->coordinates))
      return Error{"coordinates", "CHOCO-SGD sends listed differences; a peer sent something else"};
    return admit_for_averaging(std::move(share), dimension_);
  }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    float own = 1;
    for (const Contribution& other : others) {
      const auto& indices = std::get<Listed>(other.share->coordinates).indices;
      for (std::size_t i = 0; i < indices.size(); ++i)
        sum_[indices[i]] += other.weight * other.share->values[i];
      own -= other.weight;
    }
    add_scaled(sum_, own, told_);
    Vector gap(dimension_);
    subtract(sum_, copy_, gap);
    add_scaled(model, step_, gap);
  }

  Vector told_of(std::span<const float> model, const Coordinates& coordinates) const override {
    Vector difference(dimension_);
    subtract(model, copy_, difference);
    return values_at(difference, coordinates);
  }

  void fields(Archive& archive) override {
    for (Vector* vector : {&copy_, &sum_, &told_}) archive.same_length(*vector);
  }

 private:
  std::uint32_t dimension_;
  std::size_t count_;
  float step_;
  Vector copy_;  // x^
  Vector sum_;   // s
  Vector told_;  // q of this round, zero elsewhere.
};

}  // namespace

std::unique_ptr<Sharing> make_choco(Options& options, const SharingContext& context) {
  const double budget = options.number("budget", 0.2, above_up_to(0, 1));
  const double step = options.number("step", 0.4, above_up_to(0, 1));
  if (!context.lossless_codec)
    throw std::invalid_argument(
        "choco: neighbours must hold the same copies, so its codec must be lossless; use "
        "gamma+planes or gamma+fpzip");
  return std::make_unique<Choco>(context.dimension, budget, static_cast<float>(step));
}

}  // namespace tessera
