// Rules that a few wild copies cannot move far (Yin et al., "Byzantine-robust distributed
// learning", 2018): the median of the copies of each coordinate, and their mean without the k
// largest and the k smallest. The copies are those present, own included; weights play no part.
//
// Where fewer than 2 k + 1 copies are present, as many are dropped as leave one or two: the median.
// With a single peer both rules are its mean with the node's own, and bound nothing.
//
// Copies are ordered by their bits, so that a NaN, whichever its sign, is at one end like an
// infinity, and sums run from the smallest up: the order of the peers changes nothing.
#include <algorithm>
#include <bit>
#include <vector>

#include "sharing/rule.h"

namespace tessera {
namespace {

// A whole number that is ordered as the float is: of negative ones all bits but the sign are turned
// round. Its own inverse.
std::int32_t turned(std::int32_t bits) {
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
std::int32_t key_of(float value) {
  return turned(std::bit_cast<std::int32_t>(value));
}
double value_of(std::int32_t key) {
  return double{std::bit_cast<float>(turned(key))};
}

// Calls fn(k, place) for the k-th value of a copy, with the coordinate it belongs to.
template <typename Fn>
void each_place(const Copy& copy, Fn&& fn) {
  for (std::size_t i = 0; i < copy.values.size(); ++i) fn(i, copy.everything ? i : copy.indices[i]);
}

// The keys of all copies of each coordinate side by side, own first; coordinate k's begin at
// begins[k].
struct Columns {
  std::vector<std::size_t> begins{};
  std::vector<std::int32_t> keys{};

  Columns(std::span<const float> x, std::span<const Copy> others) : begins(x.size() + 1, 1) {
    begins[0] = 0;
    for (const Copy& other : others)
      each_place(other, [&](std::size_t, std::size_t place) { ++begins[place + 1]; });
    for (std::size_t k = 1; k < begins.size(); ++k) begins[k] += begins[k - 1];
    keys.resize(begins.back());
    std::vector<std::size_t> ends(begins.begin(), begins.end() - 1);
    for (std::size_t k = 0; k < x.size(); ++k) keys[ends[k]++] = key_of(x[k]);
    for (const Copy& other : others)
      each_place(other, [&](std::size_t i, std::size_t place) {
        keys[ends[place]++] = key_of(other.values[i]);
      });
  }

  std::span<std::int32_t> of(std::size_t k) {
    return std::span(keys).subspan(begins[k], begins[k + 1] - begins[k]);
  }
};

class Trimmed final : public Rule {
 public:
  explicit Trimmed(std::size_t drop) : drop_(drop) {}

  void average(std::span<float> x, std::span<const Copy> others) const override {
    Columns columns(x, others);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (const auto copies = columns.of(k); copies.size() > 1) x[k] = middle(copies);
  }

 private:
  // Summed in double, which is exact enough for copies that agree to stay as they are.
  float middle(std::span<std::int32_t> copies) const {
    std::sort(copies.begin(), copies.end());
    const std::size_t drop = std::min(drop_, (copies.size() - 1) / 2);
    const auto kept = copies.subspan(drop, copies.size() - 2 * drop);
    double sum = 0;
    for (const std::int32_t key : kept) sum += value_of(key);
    return static_cast<float>(sum / static_cast<double>(kept.size()));
  }

  std::size_t drop_;
};

constexpr std::size_t kAllButTheMiddle = SIZE_MAX;

}  // namespace

std::unique_ptr<Rule> make_median_rule(Options&) {
  return std::make_unique<Trimmed>(kAllButTheMiddle);
}

std::unique_ptr<Rule> make_trimmed_rule(Options& options) {
  return std::make_unique<Trimmed>(
      static_cast<std::size_t>(options.integer("drop", 1, between(1, 1e6))));
}

}  // namespace tessera
