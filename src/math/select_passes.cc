#include "math/select_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/select_passes.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Magnitudes fit 31 bits, so signed lanes compare them rightly, and more CPUs compare signed lanes
// quickly.
using Ints = hn::ScalableTag<std::int32_t>;

using Floats = hn::RebindToFloat<Ints>;

HWY_INLINE hn::Vec<Ints> magnitudes_of(hn::Vec<Floats> scores) {
  const Ints d;
  const auto without_sign = hn::And(hn::BitCast(d, scores), hn::Set(d, 0x7fffffff));
  return hn::Min(without_sign, hn::Set(d, static_cast<std::int32_t>(kNotANumber)));
}

BracketCount KeepInside(const float* scores, std::size_t count, Bracket bracket, float* kept) {
  const Ints d;
  const Floats df;
  const std::size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, static_cast<std::int32_t>(bracket.low) - 1);
  const auto high = hn::Set(d, static_cast<std::int32_t>(bracket.high));
  BracketCount result;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto loaded = hn::LoadU(df, scores + i);
    const auto magnitudes = magnitudes_of(loaded);
    const auto above = hn::Gt(magnitudes, high);
    const auto inside = hn::AndNot(above, hn::Gt(magnitudes, below));
    // Compressed in a register and stored whole: on some CPUs the compressing store is an order of
    // magnitude slower.
    hn::StoreU(hn::Compress(loaded, hn::RebindMask(df, inside)), df, kept + result.inside);
    result.above += hn::CountTrue(d, above);
    result.inside += hn::CountTrue(d, inside);
  }
  for (; i < count; ++i) {
    const std::uint32_t m = magnitude(scores[i]);
    if (m > bracket.high)
      ++result.above;
    else if (m >= bracket.low)
      kept[result.inside++] = scores[i];
  }
  return result;
}

std::size_t WriteIndices(const float* scores, std::size_t count, std::uint32_t threshold,
                         std::size_t ties, std::uint32_t* out) {
  const Ints d;
  const std::size_t lanes = hn::Lanes(d);
  const hn::RebindToUnsigned<Ints> du;
  const auto limit = hn::Set(d, static_cast<std::int32_t>(threshold));
  auto places = hn::Iota(d, 0);
  const auto step = hn::Set(d, static_cast<std::int32_t>(lanes));
  std::size_t written = 0;
  const auto write_one = [&](std::size_t i) {
    const std::uint32_t m = magnitude(scores[i]);
    const bool tie = m == threshold && ties > 0;
    ties -= tie ? 1 : 0;
    if (m > threshold || tie) out[written++] = static_cast<std::uint32_t>(i);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes, places = hn::Add(places, step)) {
    const auto magnitudes = magnitudes_of(hn::LoadU(Floats(), scores + i));
    auto taken = hn::Gt(magnitudes, limit);
    if (ties > 0) {
      const auto equal = hn::Eq(magnitudes, limit);
      const std::size_t found = hn::CountTrue(d, equal);
      if (found > ties) {  // The last ties lie within this vector: at most once per call.
        for (std::size_t lane = 0; lane < lanes; ++lane) write_one(i + lane);
        continue;
      }
      ties -= found;
      taken = hn::Or(taken, equal);
    }
    hn::StoreU(hn::BitCast(du, hn::Compress(places, taken)), du, out + written);
    written += hn::CountTrue(d, taken);
  }
  for (; i < count; ++i) write_one(i);
  return written;
}

bool IncreaseStrictly(const std::uint32_t* values, std::size_t count) {
  const Ints d;
  const hn::RebindToUnsigned<Ints> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto top =
      hn::Set(du, 0x80000000u);  // With it turned over, signed lanes compare unsigned values.
  const auto signed_at = [&](std::size_t i) {
    return hn::BitCast(d, hn::Xor(hn::LoadU(du, values + i), top));
  };
  auto all = hn::Set(d, -1);
  std::size_t i = 1;
  for (; i + lanes <= count; i += lanes)
    all = hn::And(all, hn::VecFromMask(d, hn::Lt(signed_at(i - 1), signed_at(i))));
  bool increasing = hn::AllTrue(d, hn::Lt(all, hn::Zero(d)));
  for (; i < count; ++i) increasing &= values[i - 1] < values[i];
  return increasing;
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(KeepInside);
HWY_EXPORT(WriteIndices);
HWY_EXPORT(IncreaseStrictly);

BracketCount keep_inside(std::span<const float> scores, Bracket bracket, float* kept) {
  return HWY_DYNAMIC_DISPATCH(KeepInside)(scores.data(), scores.size(), bracket, kept);
}

std::size_t write_indices(std::span<const float> scores, std::uint32_t threshold, std::size_t ties,
                          std::uint32_t* out) {
  return HWY_DYNAMIC_DISPATCH(WriteIndices)(scores.data(), scores.size(), threshold, ties, out);
}

bool increase_strictly(std::span<const std::uint32_t> values) {
  return HWY_DYNAMIC_DISPATCH(IncreaseStrictly)(values.data(), values.size());
}

}  // namespace tessera
#endif  // HWY_ONCE
