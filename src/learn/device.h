// Where learning happens: `device = "cpu"`, "cuda", or with options
//
//   cpu:mode=auto              one node per thread, on the CPU layers
//   cpu:convolution=winograd   their 5x5 convolutions in fewer multiplications (winograd.h)
//   cpu:precision=bf16         the factors of convolutions in bf16 (bf16.h), sums in float32
//   cpu:precision=bf16,convolution=amx     in AMX's tiles (amx.h)
//   cpu:mode=reference         the same under LibTorch's autograd: for tests
//   cpu:mode=stacked           the GPU's way of working, on the CPU: for tests
//   cuda:chunk=96,memory=40GiB,precision=3xf16
//   cuda:1                     which GPU, counted from 0; cuda:index=1 is the same
//   cuda:0-3, cuda:0/2         several, with an equal part of the nodes each
//   cuda:deterministic=no
//   cuda:graphs=no             a call for every kernel instead of one for up to eight steps
//
// A GPU that is named twice takes two parts, and half of its memory for each: for tests.
// Stacked devices take `chunk` nodes at a time, by default as many as fit in `memory`, which is by
// default half of the GPU's. Our own kernels (cuda/) take all built-in models: precision=3xf16 and
// 3xtf32 work with float32's accuracy on the tensor cores, fp32 without them, tf32 with 11 bits of
// each factor; they repeat a run bit for bit. Layers they do not know go to LibTorch:
// left to itself cuDNN times its kernels and takes the fastest, so two runs may differ in the last
// bits; deterministic=yes forbids that and is slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Which kernels the CPU layers take.
struct CpuKernels {
  bool winograd = false;
  bool bf16 = false;
  bool amx = false;  // With bf16 alone.
};

struct DeviceOptions {
  enum class Mode { kAuto, kReference, kStacked };
  enum class Precision { kFp32, k3xTf32, kTf32, k3xF16 };
  Mode mode = Mode::kAuto;
  bool cuda = false;
  std::vector<int> gpus{};                  // All that are named, as often as they are.
  int index = 0;                            // The GPU; of several, the first.
  unsigned sharers = 1;                     // So many divide its memory.
  std::size_t chunk = 0;                    // 0: as many nodes as fit.
  std::uint64_t memory_bytes = 0;           // 0: half of what the device has.
  bool deterministic = false;               // LibTorch's convolutions; ours always are.
  Precision precision = Precision::k3xF16;  // Of our kernels on a GPU.
  bool graphs = true;                       // Up to eight steps of our kernels are one CUDA graph.
  CpuKernels kernels{};                     // Of the CPU layers.
};

// Throws std::invalid_argument. Whether there is a GPU is asked when something is put on it.
DeviceOptions parse_device(std::string_view spec);
std::string_view to_string(DeviceOptions::Precision precision);  // As parse_device reads it.
// The line without where the work is done and in what portions: which GPUs, how many nodes at a
// time, how much memory, graphs or none. What the CPU layers and our own kernels compute is the
// same anywhere, GPUs being of one kind. What LibTorch computes, on a GPU or with mode=stacked, may
// differ in its last bits.
std::string without_place(std::string_view spec);

}  // namespace tessera
