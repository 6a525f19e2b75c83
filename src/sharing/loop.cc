// Closed-loop sharing: a node tells quantized differences from what it told before, and its
// neighbours add them to the copy of it that they keep. What rounding or the budget left out stays
// in the next difference, so that few bits are enough. Per round, with c the coefficients of the
// trained model and t what was told of it, which begins as the initial model's:
//
//   d = c - t
//   u = the largest power of two <= step * the root mean square of d
//   q = u round(d / u)      told where it is not zero, the largest |d| first, as many as the budget
//                           says; t += q, and so do the neighbours' copies of t
//
// A receiver averages, by the run's rule, the coefficients just told, as JWINS does, not whole
// copies as CHOCO-SGD does. With wavelets, c - t is JWINS's accumulated change.
//
// Copies are t to the bit: multiples of a power of two are exact, and the codec must be lossless
// (grid writes them small). Differences are numbered. A receiver that has missed one leaves its
// sender out until that tells everything anew, every `refresh` rounds: rounded to u as well, so
// that it costs a few bits a coefficient.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "base/check.h"
#include "math/select.h"
#include "math/vector_ops.h"
#include "sharing/average.h"
#include "sharing/budget.h"
#include "sharing/sharing.h"
#include "sharing/transform.h"

namespace tessera {
namespace {

constexpr std::uint32_t kLost = 0;  // No difference has this number.

struct LoopOptions {
  Budget budget{};
  double step = 1;
  std::uint32_t refresh = 0;  // Rounds from one telling of everything to the next; 0: never.
  std::shared_ptr<const Rule> rule{};
};

class Loop final : public Sharing {
 public:
  Loop(std::uint32_t length, std::unique_ptr<Transform> transform, LoopOptions options)
      : transform_(std::move(transform)),
        options_(std::move(options)),
        length_(length),
        dimension_(static_cast<std::uint32_t>(transform_->coefficients())),
        told_(dimension_),
        first_(dimension_) {}

  // Nodes begin together with one model. After a merge between rounds theirs agree to rounding
  // only: then everything is told first.
  void start(std::span<const float> model) override {
    transform_->forward(model, told_);
    first_ = told_;
    copies_.clear();
    together_ = !started_;
    refresh_due_ = started_;
    started_ = true;
    number_ = 0;
  }

  std::vector<Share> pack(std::span<const float> model, const Random& random) override {
    CHECK(model.size() == length_);
    Vector coefficients(dimension_), difference(dimension_);
    transform_->forward(model, coefficients);
    subtract(coefficients, told_, difference);
    const double fraction = options_.budget.draw(random);
    Indices chosen;
    select_largest(difference, count_of(fraction), chosen);
    const float unit = unit_for(difference);
    if (begins_refresh(random)) return {everything(coefficients, unit)};
    return {changes(difference, chosen, unit)};
  }

  Result<HeardShare> admit(HeardShare share) const override {
    if (std::holds_alternative<Everything>(share->coordinates))
      return admit_for_averaging(std::move(share), dimension_);
    if (!std::holds_alternative<Changes>(share->coordinates))
      return Error{"coordinates", "a closed loop takes changes; a peer sent something else"};
    if (share->dimension != dimension_)
      return Error{"dimension", fmt::format("changes of {} coordinates reached a model of {}",
                                            share->dimension, dimension_)};
    if (!is_valid(*share)) return Error{"count", "changes and their coordinates do not match"};
    return share;
  }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    std::vector<Vector> values;
    values.reserve(others.size());
    std::vector<Copy> heard;
    for (const Contribution& other : others)
      if (follow(other)) heard.push_back(copy_of(other, values.emplace_back()));
    if (heard.empty()) return;
    Vector coefficients(dimension_);
    transform_->forward(model, coefficients);
    options_.rule->average(coefficients, heard);
    transform_->inverse(coefficients, model);
  }

  Vector told_of(std::span<const float> model, const Coordinates& coordinates) const override {
    Vector coefficients(dimension_);
    transform_->forward(model, coefficients);
    if (std::holds_alternative<Everything>(coordinates)) return coefficients;
    Vector difference(dimension_);
    subtract(coefficients, told_, difference);
    return values_at(difference, coordinates);
  }

  void fields(Archive& archive) override {
    archive(number_, until_refresh_, refresh_due_, together_, copies_, options_.budget);
    archive.same_length(told_);
    archive.same_length(first_);
    for (const auto& [peer, copy] : copies_)
      archive.require(copy.values.size() == dimension_, "a saved copy has another length");
  }

 private:
  // What a neighbour has told of itself, as far as we heard it.
  struct Followed {
    Vector values{};
    std::uint32_t next = 1;  // The number of its next difference; kLost: we have missed one.
    void fields(Archive& archive) { archive(values, next); }
  };

  std::size_t count_of(double fraction) const {
    const double count = std::nearbyint(fraction * static_cast<double>(dimension_));
    return std::clamp<std::size_t>(static_cast<std::size_t>(count), 1, dimension_);
  }

  // Zero where nothing has changed.
  float unit_for(const Vector& difference) const {
    const double mean_square = squared_norm(difference) / static_cast<double>(dimension_);
    const double wanted = options_.step * std::sqrt(mean_square);
    constexpr int kExponentMin = -100;  // No model tells so small a change.
    return wanted > 0 ? std::ldexp(1.0f, std::max(std::ilogb(wanted), kExponentMin)) : 0;
  }

  // No more multiples of a unit than this are told: a float has room for four times as many.
  static constexpr float kMultipleMax = 1 << 22;
  static float rounded(float value, float unit) {
    // Minus zero, which is no multiple to grid, becomes zero.
    return unit == 0 ? 0 : unit * std::nearbyint(value / unit) + 0.0f;
  }
  // The smallest power of two of which no value is too many.
  static float finest_unit_of(const Vector& values) {
    float peak = 0;
    for (const float value : values) peak = std::max(peak, std::fabs(value));
    return peak > 0 ? std::ldexp(1.0f, std::ilogb(peak / kMultipleMax) + 1) : 0;
  }

  // Each node has its turns, so that they do not all come in one round.
  bool begins_refresh(const Random& random) {
    if (options_.refresh > 0 && number_ == 0 && !refresh_due_)
      until_refresh_ =
          1 + static_cast<std::uint32_t>(random.fork("refresh").below(options_.refresh));
    const bool due = refresh_due_ || (options_.refresh > 0 && until_refresh_ == 0);
    if (until_refresh_ > 0) --until_refresh_;
    return due;
  }

  Share everything(const Vector& coefficients, float unit) {
    refresh_due_ = false;
    until_refresh_ = options_.refresh > 0 ? options_.refresh - 1 : 0;
    number_ = 1;
    unit = std::max(unit, finest_unit_of(coefficients));
    for (std::uint32_t k = 0; k < dimension_; ++k) told_[k] = rounded(coefficients[k], unit);
    return {.dimension = dimension_, .coordinates = Everything{}, .values = told_};
  }

  Share changes(const Vector& difference, const Indices& chosen, float unit) {
    number_ = std::max(number_, 1u);
    unit = std::max(unit, finest_unit_of(difference));
    Changes changes{.number = number_++};
    Share share{.dimension = dimension_};
    for (const std::uint32_t k : chosen) {
      const float change = rounded(difference[k], unit);
      if (change == 0) continue;
      changes.indices.push_back(k);
      share.values.push_back(change);
      told_[k] += change;
    }
    share.coordinates = std::move(changes);
    return share;
  }

  // Adds what a neighbour told to the copy we keep of it. Whether there is something to average:
  // it told something, and the copy is of use.
  bool follow(const Contribution& other) {
    Followed& copy = copies_[other.from];
    if (copy.values.empty()) copy = {.values = first_, .next = together_ ? 1 : kLost};
    const auto* told = std::get_if<Changes>(&other.share->coordinates);
    if (!told) {
      copy = {.values = other.share->values, .next = 1};
      return true;
    }
    if (told->number != copy.next) copy.next = kLost;
    if (copy.next == kLost) return false;
    ++copy.next;
    for (std::size_t i = 0; i < told->indices.size(); ++i)
      copy.values[told->indices[i]] += other.share->values[i];
    return !told->indices.empty();
  }

  Copy copy_of(const Contribution& other, Vector& values) const {
    values = values_at(copies_.at(other.from).values, other.share->coordinates);
    const Indices* indices = listed_in(other.share->coordinates);
    if (!indices) return {.weight = other.weight, .values = values};
    return {.weight = other.weight, .values = values, .everything = false, .indices = *indices};
  }

  std::unique_ptr<Transform> transform_;
  LoopOptions options_;
  std::uint32_t length_, dimension_;
  Vector told_;   // t
  Vector first_;  // What every copy begins as.
  bool started_ = false;
  bool together_ = true;  // Whether everybody has the same first_.
  bool refresh_due_ = false;
  std::uint32_t until_refresh_ = 0;
  std::uint32_t number_ = 0;  // Of the next difference.
  std::map<NodeId, Followed> copies_;
};

}  // namespace

std::unique_ptr<Sharing> make_loop(Options& options, const SharingContext& context) {
  constexpr std::array<std::string_view, 3> kWords = {"none", "wavelet", "fft"};
  const std::string transform = options.choice("transform", kWords, "wavelet");
  LoopOptions loop{.budget = Budget::read(options, {1}, context.rounds),
                   .rule = rule_or(context, "gaps")};
  loop.step = options.number("step", 1, above_up_to(0, 16));
  loop.refresh = static_cast<std::uint32_t>(options.integer("refresh", 50, between(0, 1e6)));
  if (loop.refresh == 1)
    options.refuse("refresh", "1 tells everything in every round: use sharing=full, or 2 and more");
  if (!context.lossless_codec)
    throw std::invalid_argument(
        "loop: neighbours must hold the same copies, so its codec must be lossless; use "
        "range+grid");
  return std::make_unique<Loop>(
      context.dimension, make_transform(transform, options, context.dimension), std::move(loop));
}

}  // namespace tessera
