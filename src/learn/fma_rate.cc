#include "learn/fma_rate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/fma_rate.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double RunMultiplyAdds(std::size_t rounds, float* sums) {
  constexpr std::size_t kSums = 12;  // Two a cycle that take four cycles or five each.
  const hn::CappedTag<float, 16> d;
  const auto factor = hn::Set(d, 0.5f);
  auto one = hn::LoadU(d, sums);
  hn::Vec<decltype(d)> many[kSums];
  for (auto& sum : many) sum = one;
  for (std::size_t round = 0; round < rounds; ++round)
    for (auto& sum : many) sum = hn::MulAdd(sum, factor, one);
  for (const auto& sum : many) one = hn::Add(one, sum);
  hn::StoreU(one, d, sums);
  return 2.0 * static_cast<double>(rounds * kSums * hn::Lanes(d));
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(RunMultiplyAdds);

double run_multiply_adds(std::size_t rounds, float* sums) {
  return HWY_DYNAMIC_DISPATCH(RunMultiplyAdds)(rounds, sums);
}

}  // namespace tessera
#endif  // HWY_ONCE
