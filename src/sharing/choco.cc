// CHOCO-SGD (Koloskova, Stich and Jaggi, 2019). Every node keeps a public copy x^ of its model,
// which its neighbours can follow because only compressed differences are ever added to it, and s,
// the weighted sum of the neighbours' copies and its own. Per round, with x the trained model:
//
//   q = C(x - x^)               sent to all neighbours
//   x^ += q
//   s  += sum_j w_ij q_j + w_ii q
//   x  += step (s - x^)
//
// C keeps the largest coordinates, as many as the budget says. With bits=b it also rounds those n
// values, d, to whole multiples of a unit at random (QSGD: Alistarh et al., 2017), scaled down by
// tau so that the copies come nearer whatever is drawn (Koloskova et al., section 3.1):
//
//   q_k = sign(d_k) u floor(|d_k| / (tau u) + r_k),   r_k uniform in [0, 1)
//   u <= |d| / (tau s), a power of two,   s = 2^(b - 1),   tau = 1 + min(n / s^2, sqrt(n) / s)
//
// The power of two is what the codec `grid` writes small; it makes the levels up to twice as fine.
//
// Copies start at zero, as in the reference implementation, so the first rounds build them up.
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

// Rounds values at random, in place, to multiples of one power of two.
void quantize(std::span<float> values, unsigned bits, Random random) {
  const auto count = static_cast<double>(values.size());
  const double norm = std::sqrt(squared_norm(values));
  if (norm == 0 || !std::isfinite(norm)) return;  // What diverged is told as it is, and refused.
  const double levels = std::ldexp(1.0, static_cast<int>(bits) - 1);
  const double tau = 1 + std::min(count / (levels * levels), std::sqrt(count) / levels);
  constexpr int kExponentMin = -100;  // No model tells so small a change.
  const double unit = std::ldexp(1.0, std::max(std::ilogb(norm / (tau * levels)), kExponentMin));
  for (float& value : values) {
    const double multiple = std::floor(std::fabs(value) / (tau * unit) + random.uniform());
    value = static_cast<float>(std::copysign(multiple * unit, value));
  }
}

struct ChocoOptions {
  double budget = 1;
  float step = 1;
  unsigned bits = 0;  // 0: values are told as they are.
};

class Choco final : public Sharing {
 public:
  Choco(std::uint32_t dimension, const ChocoOptions& options)
      : dimension_(dimension),
        count_(std::max<std::size_t>(
            1, static_cast<std::size_t>(std::nearbyint(options.budget * dimension)))),
        step_(options.step),
        bits_(options.bits),
        copy_(dimension, 0.0f),
        sum_(dimension, 0.0f),
        told_(dimension, 0.0f) {}

  void start(std::span<const float>) override {}

  std::vector<Share> pack(std::span<const float> model, const Random& random) override {
    Vector difference(dimension_);
    subtract(model, copy_, difference);
    Indices chosen;
    select_largest(difference, count_, chosen);
    Vector values = values_at(difference, Listed{chosen});
    if (bits_ > 0) quantize(values, bits_, random.fork("quantize"));
    Share share{.dimension = dimension_};
    Listed listed;
    std::fill(told_.begin(), told_.end(), 0.0f);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (values[i] == 0) continue;  // Nothing is told by a zero: at agreement a share is empty.
      listed.indices.push_back(chosen[i]);
      share.values.push_back(values[i]);
      told_[chosen[i]] = values[i];
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
  unsigned bits_;
  Vector copy_;  // x^
  Vector sum_;   // s
  Vector told_;  // q of this round, zero elsewhere.
};

}  // namespace

std::unique_ptr<Sharing> make_choco(Options& options, const SharingContext& context) {
  ChocoOptions choco;
  choco.bits = static_cast<unsigned>(options.integer("bits", 0, between(0, 16)));
  choco.budget = options.number("budget", choco.bits > 0 ? 1 : 0.2, above_up_to(0, 1));
  choco.step = static_cast<float>(options.number("step", 0.4, above_up_to(0, 1)));
  if (!context.lossless_codec)
    throw std::invalid_argument(
        "choco: neighbours must hold the same copies, so its codec must be lossless; use "
        "gamma+planes, or range+grid with bits=");
  return std::make_unique<Choco>(context.dimension, choco);
}

}  // namespace tessera
