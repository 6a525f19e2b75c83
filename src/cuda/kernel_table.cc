#include "cuda/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/random.h"
#include "cuda/peaks.h"

namespace tessera::cuda {
namespace {

// The median of some runs, timed by the device itself.
double seconds_of(const Stream& stream, const std::function<void()>& run, int times = 15) {
  cudaEvent_t begin = nullptr, end = nullptr;
  require(cudaEventCreate(&begin), "making an event");
  require(cudaEventCreate(&end), "making an event");
  run();
  run();
  std::vector<float> ms(static_cast<std::size_t>(times));
  for (float& one : ms) {
    require(cudaEventRecord(begin, stream.get()), "timing");
    run();
    require(cudaEventRecord(end, stream.get()), "timing");
    stream.wait();
    require(cudaEventElapsedTime(&one, begin, end), "timing");
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(ms.begin(), ms.begin() + times / 2, ms.end());
  return double{ms[static_cast<std::size_t>(times / 2)]} * 1e-3;
}

}  // namespace

Peaks measure_peaks(const Stream& stream) {
  constexpr int kBlocks = 4096;
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  DeviceArray<float> out(kBlocks * 256);
  DeviceArray<std::byte> from(kBytes), to(kBytes);
  stream.clear(from.data(), kBytes);
  double flops = 0;
  Peaks peaks;
  const double plain_s = seconds_of(
      stream, [&] { flops = multiply_plain(stream.get(), kBlocks, out.data()); }, 5);
  peaks.plain = flops / plain_s;
  const double tensor_s = seconds_of(
      stream, [&] { flops = multiply_tensor(stream.get(), kBlocks, out.data()); }, 5);
  peaks.tensor = flops / tensor_s;
  const double halves_s = seconds_of(
      stream, [&] { flops = multiply_halves(stream.get(), kBlocks, out.data()); }, 5);
  peaks.halves = flops / halves_s;
  const double copy_s = seconds_of(stream, [&] {
    require(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream.get()),
            "a copy");
  });
  peaks.bytes = 2.0 * kBytes / copy_s;
  return peaks;
}

double KernelTable::rate(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return peaks.plain;
    case Precision::k3xTf32:
      return peaks.tensor / 3;
    case Precision::kTf32:
      return peaks.halves;
    case Precision::k3xF16:
      return peaks.halves / 3;
  }
  return 0;
}

double KernelTable::product_rate(Precision precision) const {
  if (precision == Precision::kFp32) return peaks.plain;
  return precision == Precision::kTf32 ? peaks.tensor : peaks.tensor / 3;
}

void KernelTable::row(std::string_view name, double flops_per_s, const Work& work,
                      const std::function<void()>& run) {
  const double seconds = seconds_of(stream, run);
  const double least = std::max(work.flops / flops_per_s, work.bytes / peaks.bytes);
  floor_s += least;
  bench.say(
      fmt::format("  {:<34} {:8.1f} us  {:6.1f} TFLOP/s {:5.0f} GB/s  floor {:6.1f} us, {:4.1f}x",
                  name, seconds * 1e6, work.flops / seconds * 1e-12, work.bytes / seconds * 1e-9,
                  least * 1e6, seconds / least));
}

void fill(const Stream& stream, const DeviceArray<float>& to, std::uint64_t seed) {
  std::vector<float> values(std::min<std::size_t>(to.size(), std::size_t{1} << 20));
  Random random(seed);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  for (std::size_t start = 0; start < to.size(); start += values.size())
    stream.upload(to.data() + start, values.data(),
                  std::min(values.size(), to.size() - start) * sizeof(float));
  stream.wait();
}

}  // namespace tessera::cuda
