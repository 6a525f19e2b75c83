#include "math/select_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/select_passes.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "base/prefetch.h"

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

#if HWY_TARGET == HWY_AVX2
// For every mask the lanes it takes, in order. Compress() of Highway 1.0.3 has such a table, too,
// but GCC 12 copies it to the stack at every call: a pass over all scores took four times as long.
struct TakenLanes {
  alignas(64) std::uint8_t of[256][8] = {};
  constexpr TakenLanes() {
    for (unsigned mask = 0; mask < 256; ++mask)
      for (unsigned lane = 0, next = 0; lane < 8; ++lane)
        if (mask >> lane & 1) of[mask][next++] = static_cast<std::uint8_t>(lane);
  }
};
constexpr TakenLanes kTakenLanes;

HWY_INLINE hn::Vec<Ints> compress(hn::Vec<Ints> v, hn::Mask<Ints> mask) {
  const Ints d;
  std::uint8_t bits = 0;
  hn::StoreMaskBits(d, mask, &bits);
  const auto lanes = hn::LoadU(hn::Rebind<std::uint8_t, Ints>(), kTakenLanes.of[bits]);
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::PromoteTo(d, lanes)));
}
#else
HWY_INLINE hn::Vec<Ints> compress(hn::Vec<Ints> v, hn::Mask<Ints> mask) {
  return hn::Compress(v, mask);
}
#endif

// A vector that was last used a round ago is asked for so many floats ahead: without it, waiting
// for `next` of take_changes() took longer than all else there.
constexpr std::size_t kAhead = 512;

// Scores from number i on.
template <bool kChange>
HWY_INLINE hn::Vec<Floats> load(const Scores& scores, std::size_t i) {
  const Floats d;
  const auto numbers = hn::LoadU(d, scores.numbers.data() + i);
  return kChange ? hn::Sub(numbers, hn::LoadU(d, scores.others.data() + i)) : numbers;
}

template <bool kChange>
BracketCount keep_inside_of(const Scores& scores, Bracket bracket, float* kept) {
  const Ints d;
  const Floats df;
  const std::size_t lanes = hn::Lanes(d), count = scores.size();
  const auto below = hn::Set(d, static_cast<std::int32_t>(bracket.low) - 1);
  const auto high = hn::Set(d, static_cast<std::int32_t>(bracket.high));
  BracketCount result;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (kChange) prefetch_at(scores.others.data() + i + kAhead);
    const auto loaded = load<kChange>(scores, i);
    const auto magnitudes = magnitudes_of(loaded);
    const auto above = hn::Gt(magnitudes, high);
    const auto inside = hn::AndNot(above, hn::Gt(magnitudes, below));
    // Compressed in a register and stored whole: on some CPUs the compressing store is an order of
    // magnitude slower.
    hn::StoreU(hn::BitCast(df, compress(hn::BitCast(d, loaded), inside)), df, kept + result.inside);
    result.above += hn::CountTrue(d, above);
    result.inside += hn::CountTrue(d, inside);
  }
  for (; i < count; ++i) {
    const float score = scores[i];
    const std::uint32_t m = magnitude(score);
    if (m > bracket.high)
      ++result.above;
    else if (m >= bracket.low)
      kept[result.inside++] = score;
  }
  return result;
}

BracketCount KeepInside(const Scores& scores, Bracket bracket, float* kept) {
  return scores.others.empty() ? keep_inside_of<false>(scores, bracket, kept)
                               : keep_inside_of<true>(scores, bracket, kept);
}

// Decides vector by vector which scores are among the largest, and counts down the ties.
class Picker {
 public:
  explicit Picker(Largest largest) : largest_(largest) {}

  HWY_INLINE hn::Mask<Ints> pick(hn::Vec<Ints> magnitudes) {
    const Ints d;
    const auto limit = hn::Set(d, static_cast<std::int32_t>(largest_.threshold));
    const auto over = hn::Gt(magnitudes, limit);
    if (largest_.ties == 0) return over;
    const auto equal = hn::Eq(magnitudes, limit);
    const std::size_t found = hn::CountTrue(d, equal);
    if (found > largest_.ties) return hn::Or(over, first_ties(equal));
    largest_.ties -= found;
    return hn::Or(over, equal);
  }

  bool pick(std::uint32_t magnitude) {
    const bool tie = magnitude == largest_.threshold && largest_.ties > 0;
    largest_.ties -= tie ? 1 : 0;
    return magnitude > largest_.threshold || tie;
  }

 private:
  // The last ties lie within this vector: at most once per call.
  hn::Mask<Ints> first_ties(hn::Mask<Ints> equal) {
    const Ints d;
    HWY_ALIGN std::int32_t lanes[hn::MaxLanes(d)];
    hn::Store(hn::VecFromMask(d, equal), d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      if (lanes[i] == 0) continue;
      lanes[i] = largest_.ties > 0 ? -1 : 0;
      largest_.ties -= largest_.ties > 0 ? 1 : 0;
    }
    return hn::MaskFromVec(hn::Load(d, lanes));
  }

  Largest largest_;
};

template <bool kChange>
std::size_t write_indices_of(const Scores& scores, Largest largest, std::uint32_t* out) {
  const Ints d;
  const hn::RebindToUnsigned<Ints> du;
  const std::size_t lanes = hn::Lanes(d), count = scores.size();
  Picker picker(largest);
  auto places = hn::Iota(d, 0);
  const auto step = hn::Set(d, static_cast<std::int32_t>(lanes));
  std::size_t written = 0, i = 0;
  for (; i + lanes <= count; i += lanes, places = hn::Add(places, step)) {
    const auto taken = picker.pick(magnitudes_of(load<kChange>(scores, i)));
    hn::StoreU(hn::BitCast(du, compress(places, taken)), du, out + written);
    written += hn::CountTrue(d, taken);
  }
  for (; i < count; ++i)
    if (picker.pick(magnitude(scores[i]))) out[written++] = static_cast<std::uint32_t>(i);
  return written;
}

std::size_t WriteIndices(const Scores& scores, Largest largest, std::uint32_t* out) {
  return scores.others.empty() ? write_indices_of<false>(scores, largest, out)
                               : write_indices_of<true>(scores, largest, out);
}

std::size_t TakeChanges(std::span<const float> now, float* told, const float* next, Largest largest,
                        std::uint32_t* indices) {
  const Ints d;
  const Floats df;
  const hn::RebindToUnsigned<Ints> du;
  const std::size_t lanes = hn::Lanes(d), count = now.size();
  Picker picker(largest);
  auto places = hn::Iota(d, 0);
  const auto step = hn::Set(d, static_cast<std::int32_t>(lanes));
  std::size_t written = 0, i = 0;
  for (; i + lanes <= count; i += lanes, places = hn::Add(places, step)) {
    prefetch_at(next + i + kAhead);
    const auto value = hn::LoadU(df, now.data() + i), old = hn::LoadU(df, told + i);
    const auto taken = picker.pick(magnitudes_of(hn::Sub(value, old)));
    const auto taken_floats = hn::RebindMask(df, taken);
    hn::StoreU(hn::BitCast(du, compress(places, taken)), du, indices + written);
    hn::StoreU(hn::IfThenElse(taken_floats, hn::LoadU(df, next + i), old), df, told + i);
    written += hn::CountTrue(d, taken);
  }
  for (; i < count; ++i) {
    if (!picker.pick(magnitude(now[i] - told[i]))) continue;
    indices[written++] = static_cast<std::uint32_t>(i);
    told[i] = next[i];
  }
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
HWY_EXPORT(TakeChanges);
HWY_EXPORT(IncreaseStrictly);

BracketCount keep_inside(const Scores& scores, Bracket bracket, float* kept) {
  return HWY_DYNAMIC_DISPATCH(KeepInside)(scores, bracket, kept);
}

std::size_t write_indices(const Scores& scores, Largest largest, std::uint32_t* out) {
  return HWY_DYNAMIC_DISPATCH(WriteIndices)(scores, largest, out);
}

std::size_t take_changes(std::span<const float> now, std::span<float> told,
                         std::span<const float> next, Largest largest, std::uint32_t* indices) {
  return HWY_DYNAMIC_DISPATCH(TakeChanges)(now, told.data(), next.data(), largest, indices);
}

bool increase_strictly(std::span<const std::uint32_t> values) {
  return HWY_DYNAMIC_DISPATCH(IncreaseStrictly)(values.data(), values.size());
}

}  // namespace tessera
#endif  // HWY_ONCE
