// Rows of `tessera bench gpu`: a kernel's time beside the least it could take, by what the GPU
// reaches at best.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/bench.h"
#include "cuda/kernels.h"
#include "cuda/runtime.h"

namespace tessera::cuda {

struct Peaks {
  double plain = 0, tensor = 0, halves = 0, bytes = 0;  // Per second.
};
Peaks measure_peaks(const Stream& stream);

// A kernel's least work.
struct Work {
  double flops = 0, bytes = 0;
};

struct KernelTable {
  Bench& bench;
  const Stream& stream;
  Peaks peaks;
  double floor_s = 0;

  // Three products make one of float32's accuracy; tf32's factors are halves in convolutions,
  double rate(Precision precision) const;
  // and TF32 numbers in all other products.
  double product_rate(Precision precision) const;

  void row(std::string_view name, Precision precision, const Work& work,
           const std::function<void()>& run) {
    row(name, rate(precision), work, run);
  }
  void row(std::string_view name, double flops_per_s, const Work& work,
           const std::function<void()>& run);
};

// Fresh numbers between -1 and 1, the same ones every time.
void fill(const Stream& stream, const DeviceArray<float>& to, std::uint64_t seed);

inline double floats(double count) {
  return count * sizeof(float);
}

}  // namespace tessera::cuda
