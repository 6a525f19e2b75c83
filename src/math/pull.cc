#include "math/pull.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/pull.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;

// A block of x, of one copy and of the change are in the first-level cache together.
constexpr std::size_t kBlock = 2048;

struct Block {
  alignas(64) float change[kBlock];
  alignas(64) float theirs[kBlock];  // Where the copy at hand says nothing, x's own.
};

// change = 0 and theirs = own.
void begin(Block& block, const float* own, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Zero(d), d, block.change + i);
    hn::StoreU(hn::LoadU(d, own + i), d, block.theirs + i);
  }
  for (; i < count; ++i) {
    block.change[i] = 0;
    block.theirs[i] = own[i];
  }
}

// change += weight (theirs - own) where the two differ; and `theirs`, where it is the block's, is
// x's own again.
template <typename Theirs>
void pull_towards(Theirs* theirs, float weight, const float* own, float* change,
                  std::size_t count) {
  constexpr bool kRestore = !std::is_const_v<Theirs>;
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto w = hn::Set(d, weight);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::LoadU(d, theirs + i), b = hn::LoadU(d, own + i);
    const auto differ = hn::RebindMask(d, hn::Ne(hn::BitCast(di, a), hn::BitCast(di, b)));
    const auto pulled = hn::IfThenElseZero(differ, hn::Mul(w, hn::Sub(a, b)));
    hn::StoreU(hn::Add(hn::LoadU(d, change + i), pulled), d, change + i);
    if constexpr (kRestore) hn::StoreU(b, d, theirs + i);
  }
  for (; i < count; ++i) {
    if (std::bit_cast<std::uint32_t>(theirs[i]) == std::bit_cast<std::uint32_t>(own[i])) continue;
    change[i] += weight * (theirs[i] - own[i]);
    if constexpr (kRestore) theirs[i] = own[i];
  }
}

// own += change.
void end(const Block& block, float* own, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, own + i), hn::LoadU(d, block.change + i)), d, own + i);
  for (; i < count; ++i) own[i] += block.change[i];
}

// Stores a copy's values of coordinates first ... last - 1, the next of them being number `next`;
// returns which comes after them.
std::size_t scatter(const Copy& copy, std::size_t next, std::size_t first, std::size_t last,
                    float* theirs) {
  const std::uint32_t* const indices = copy.indices.data();
  const float* const values = copy.values.data();
  const std::size_t told = copy.indices.size();
  std::size_t i = next;
  // They ascend: where the last of four is in the block, so are the others.
  for (; i + 4 <= told && indices[i + 3] < last; i += 4)
    for (std::size_t k = i; k < i + 4; ++k) theirs[indices[k] - first] = values[k];
  for (; i < told && indices[i] < last; ++i) theirs[indices[i] - first] = values[i];
  // About as many are wanted for the next block, after other copies have been read.
  constexpr std::size_t kLine = 16;
  for (std::size_t k = i; k < std::min(told, i + (i - next) + 4 * kLine); k += kLine) {
    prefetch_at(indices + k);
    prefetch_at(values + k);
  }
  return i;
}

void Pull(float* x, std::size_t length, std::span<const Copy> copies, std::size_t* next) {
  Block block;
  for (std::size_t first = 0; first < length; first += kBlock) {
    const std::size_t count = std::min(kBlock, length - first);
    float* const own = x + first;
    begin(block, own, count);
    for (std::size_t j = 0; j < copies.size(); ++j) {
      const Copy& copy = copies[j];
      if (copy.everything) {
        pull_towards(copy.values.data() + first, copy.weight, own, block.change, count);
      } else {
        const std::size_t begun = next[j];
        next[j] = scatter(copy, begun, first, first + count, block.theirs);
        if (next[j] > begun) pull_towards(block.theirs, copy.weight, own, block.change, count);
      }
    }
    end(block, own, count);
  }
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(Pull);

// Block by block, so that what is summed is in the nearest cache. Scattered values are stored into
// a copy of x's block, which is then like any other: a store for each where sums in place take
// three loads, a sum and a store.
void pull(std::span<float> x, std::span<const Copy> copies) {
  for (const Copy& copy : copies)
    CHECK(copy.values.size() == (copy.everything ? x.size() : copy.indices.size()));
  std::vector<std::size_t> next(copies.size(), 0);
  HWY_DYNAMIC_DISPATCH(Pull)(x.data(), x.size(), copies, next.data());
}

void plain::pull(std::span<float> x, std::span<const Copy> copies) {
  Vector change(x.size(), 0.0f);
  for (const Copy& copy : copies) {
    for (std::size_t i = 0; i < copy.values.size(); ++i) {
      const std::size_t at = copy.everything ? i : copy.indices[i];
      const float theirs = copy.values[i], own = x[at];
      if (std::bit_cast<std::uint32_t>(theirs) != std::bit_cast<std::uint32_t>(own))
        change[at] += copy.weight * (theirs - own);
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += change[i];
}

}  // namespace tessera
#endif  // HWY_ONCE
