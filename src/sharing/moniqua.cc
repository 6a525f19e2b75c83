// Moniqua (Lu and De Sa, "Moniqua: modulo quantized communication in decentralized SGD", ICML
// 2020): a node tells its values modulo theta, rounded to a unit d = theta / 2^bits, and a receiver
// takes the candidate that is nearest to its own value. No memory, so any graph and any protocol
// will do.
//
//   told:     q = d round(x / d) modulo theta, in [-theta/2, theta/2)
//   heard:    y_j = o + wrap(q_j - o),   o = d round(x / d) the receiver's own
//   average:  x += rule(o; y_1, y_2, ...) - o
//
// The own value is rounded like the others', so that nodes who agree stay where they are and
// rounding does not shift the mean of all models. Right as long as nodes differ by less than
// theta/2 - d in every value. A value that differs by more is taken for another, a multiple of
// theta away: nobody can notice, and the average moves towards the wrong side, by theta/2 at most.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "math/vector_ops.h"
#include "sharing/average.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

class Moniqua final : public Sharing {
 public:
  Moniqua(const SharingContext& context, float theta, unsigned bits)
      : dimension_(context.dimension),
        theta_(theta),
        unit_(std::ldexp(theta, -static_cast<int>(bits))),
        rule_(rule_or(context, "gaps")) {}

  void start(std::span<const float>) override {}

  std::vector<Share> pack(std::span<const float> model, const Random&) override {
    return {{.dimension = dimension_,
             .coordinates = Everything{},
             .values = told_of(model, Everything{})}};
  }

  Vector told_of(std::span<const float> model, const Coordinates&) const override {
    Vector values(model.size());
    for (std::size_t k = 0; k < model.size(); ++k) values[k] = wrap(rounded(model[k]));
    return values;
  }

  Result<HeardShare> admit(HeardShare share) const override {
    if (!std::holds_alternative<Everything>(share->coordinates))
      return Error{"coordinates", "moniqua sends everything; a peer sent a part"};
    for (const float value : share->values)
      if (!(std::fabs(value) <= theta_ / 2))
        return Error{"values", fmt::format("{} modulo {} cannot be", value, theta_)};
    return admit_for_averaging(std::move(share), dimension_);
  }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    if (others.empty()) return;
    Vector own(model.size());
    for (std::size_t k = 0; k < own.size(); ++k) own[k] = rounded(model[k]);
    std::vector<Vector> heard;
    std::vector<Copy> copies;
    heard.reserve(others.size());
    for (const Contribution& other : others) {
      Vector& copy = heard.emplace_back(own);
      for (std::size_t k = 0; k < own.size(); ++k) copy[k] += wrap(other.share->values[k] - own[k]);
      copies.push_back({.weight = other.weight, .values = copy});
    }
    Vector averaged = own;
    rule_->average(averaged, copies);
    for (std::size_t k = 0; k < own.size(); ++k) model[k] += averaged[k] - own[k];
  }

 private:
  float rounded(float value) const { return unit_ * std::nearbyint(value / unit_); }
  // Theta is a power of two: nothing is rounded here. Minus zero, which is no multiple to grid,
  // becomes zero.
  float wrap(float value) const {
    return value - theta_ * std::floor(value / theta_ + 0.5f) + 0.0f;
  }

  std::uint32_t dimension_;
  float theta_, unit_;
  std::shared_ptr<const Rule> rule_;
};

}  // namespace

std::unique_ptr<Sharing> make_moniqua(Options& options, const SharingContext& context) {
  const double theta = options.number("theta", 16, between(1e-6, 1e6));
  const auto bits = static_cast<unsigned>(options.integer("bits", 12, between(1, 16)));
  if (!context.lossless_codec)
    throw std::invalid_argument(
        "moniqua: what it tells is rounded already, and another rounding would lose the "
        "candidates; "
        "use a lossless codec, range+grid");
  const float power = std::exp2(std::ceil(std::log2(static_cast<float>(theta))));
  return std::make_unique<Moniqua>(context, power, bits);
}

}  // namespace tessera
