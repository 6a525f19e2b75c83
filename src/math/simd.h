// Which SIMD instructions the kernels of this folder use. Highway compiles each kernel for several
// CPUs into one program and picks the best at run time; tests and benchmarks walk the list and
// force one. Every target gives the same bits: kernels multiply and add separately, in a stated
// order.
#pragma once

#include <string>
#include <vector>

namespace tessera {

std::vector<std::string> simd_targets();  // Those this CPU can run, best first.
std::string simd_target();                // The one in use.

// Forces one target while it lives. For tests and benchmarks: kernels on other threads change with
// it.
class UseSimdTarget {
 public:
  explicit UseSimdTarget(const std::string& name);
  ~UseSimdTarget();
  UseSimdTarget(const UseSimdTarget&) = delete;
  UseSimdTarget& operator=(const UseSimdTarget&) = delete;
};

}  // namespace tessera
