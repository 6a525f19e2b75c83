#include "math/vector_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/vector_ops.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;

// Runs `step` on whole vectors and `rest` on the elements left over.
template <typename Step, typename Rest>
HWY_INLINE void sweep(std::size_t count, Step step, Rest rest) {
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(i);
  for (; i < count; ++i) rest(i);
}

void Add(float* x, const float* y, std::size_t count) {
  const Floats d;
  sweep(
      count,
      [&](std::size_t i) {
        hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, x + i);
      },
      [&](std::size_t i) { x[i] += y[i]; });
}

void AddScaled(float* x, float a, const float* y, std::size_t count) {
  const Floats d;
  const auto va = hn::Set(d, a);
  sweep(
      count,
      [&](std::size_t i) {
        hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::Mul(va, hn::LoadU(d, y + i))), d, x + i);
      },
      [&](std::size_t i) { x[i] += a * y[i]; });
}

void Subtract(const float* a, const float* b, float* out, std::size_t count) {
  const Floats d;
  sweep(
      count,
      [&](std::size_t i) {
        hn::StoreU(hn::Sub(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
      },
      [&](std::size_t i) { out[i] = a[i] - b[i]; });
}

void DivideByCopies(float* sum, const std::uint32_t* copies, std::size_t count) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  sweep(
      count,
      [&](std::size_t i) {
        // Copies are fewer than 2^31, so the signed conversion is exact in the same cases as the
        // unsigned one.
        const auto n =
            hn::ConvertTo(d, hn::LoadU(di, reinterpret_cast<const std::int32_t*>(copies) + i));
        hn::StoreU(hn::Div(hn::LoadU(d, sum + i), n), d, sum + i);
      },
      [&](std::size_t i) { sum[i] /= static_cast<float>(copies[i]); });
}

// Nothing but the loop: the compiler makes the most of it for each target.
double SquaredNorm(const float* x, std::size_t count) {
  constexpr std::size_t kSums = 16;
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (std::size_t k = 0; k < kSums; ++k)
      sums[k] += static_cast<double>(x[i + k]) * static_cast<double>(x[i + k]);
  for (; i < count; ++i) sums[i % kSums] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(Add);
HWY_EXPORT(AddScaled);
HWY_EXPORT(Subtract);
HWY_EXPORT(DivideByCopies);
HWY_EXPORT(SquaredNorm);

void add(std::span<float> x, std::span<const float> y) {
  CHECK(x.size() == y.size());
  // A piece of a small model is added in less time than a kernel is called.
  if (x.size() < 16) return plain::add(x, y);
  HWY_DYNAMIC_DISPATCH(Add)(x.data(), y.data(), x.size());
}

void add_scaled(std::span<float> x, float a, std::span<const float> y) {
  CHECK(x.size() == y.size());
  HWY_DYNAMIC_DISPATCH(AddScaled)(x.data(), a, y.data(), x.size());
}

void subtract(std::span<const float> a, std::span<const float> b, std::span<float> out) {
  CHECK(a.size() == b.size());
  CHECK(a.size() == out.size());
  HWY_DYNAMIC_DISPATCH(Subtract)(a.data(), b.data(), out.data(), out.size());
}

void divide_by_copies(std::span<float> sum, std::span<const std::uint32_t> copies) {
  CHECK(sum.size() == copies.size());
  HWY_DYNAMIC_DISPATCH(DivideByCopies)(sum.data(), copies.data(), sum.size());
}

// Scattered access gains nothing from SIMD here: loads and stores, one element each, are the cost.
void add_at(std::span<float> sum, std::span<std::uint32_t> copies,
            std::span<const std::uint32_t> indices, std::span<const float> values) {
  CHECK(indices.size() == values.size());
  CHECK(sum.size() == copies.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    sum[indices[i]] += values[i];
    ++copies[indices[i]];
  }
}

double squared_norm(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(SquaredNorm)(x.data(), x.size());
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  CHECK(a.size() == b.size());
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  const auto add = [&](std::size_t k) {
    const double gap = double{a[k]} - double{b[k]};
    sums[k % kSums] += gap * gap;
  };
  for (std::size_t k = 0; k < a.size(); ++k) add(k);
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

namespace plain {

void add(std::span<float> x, std::span<const float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

void add_scaled(std::span<float> x, float a, std::span<const float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += a * y[i];
}

void subtract(std::span<const float> a, std::span<const float> b, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] - b[i];
}

void divide_by_copies(std::span<float> sum, std::span<const std::uint32_t> copies) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] /= static_cast<float>(copies[i]);
}

}  // namespace plain
}  // namespace tessera
#endif  // HWY_ONCE
