#include "math/simd.h"

#include <hwy/highway.h>

#include <cstdint>

#include "base/check.h"

namespace tessera {
namespace {

// Mask 0 lets Highway look at the CPU again.
void support_only(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string simd_target() {
  return simd_targets().front();
}

UseSimdTarget::UseSimdTarget(const std::string& name) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (hwy::TargetName(target) != name) continue;
    support_only(target);
    return;
  }
  check::fail(__FILE__, __LINE__, "this CPU can run the SIMD target", " " + name);
}

UseSimdTarget::~UseSimdTarget() {
  support_only(0);
}

}  // namespace tessera
