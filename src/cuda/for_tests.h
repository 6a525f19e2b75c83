// Tests of this folder need a GPU; where there is none they are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "cuda/runtime.h"

namespace tessera::cuda {

// Empty where GPU 0 can be used.
inline std::string why_no_gpu() {
  try {
    use_gpu(0);
    return {};
  } catch (const std::exception& why) {
    return why.what();
  }
}

}  // namespace tessera::cuda

#define SKIP_WITHOUT_GPU() \
  if (const std::string why = ::tessera::cuda::why_no_gpu(); !why.empty()) GTEST_SKIP() << why
