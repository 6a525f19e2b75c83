// Convolutions and the gradients of their inputs as implicit GEMM: the product of a matrix with a
// row for every pixel's patch of the image and the matrix of the weights, without ever writing the
// patches to memory as im2col does. A block of four warps makes a tile of pixels times `columns`
// channels; a warp 32 pixels times 16 or 32 channels. Terms are added segment by segment, within a
// segment eight at a time: one order for every result.
//
// The image's tile stays in shared memory while the weights of segment after segment pass through a
// ring of kStages, copied while those before are multiplied. Of eight terms a lane takes 2 t and
// 2 t + 1, which lie side by side in the image; the pitches keep a warp's reads in different banks.
#include <algorithm>

#include "cuda/conv_stage.cuh"
#include "cuda/launch.cuh"

namespace tessera::cuda {
namespace {

__device__ inline float2 pair_at(const float* at) {
  return *reinterpret_cast<const float2*>(at);
}

// Eight terms of a segment from `term` on.
template <Precision kPrecision, int kColumns, Kind kKind>
__device__ inline void add_terms(const float* image, const int (&pixels)[2][2],
                                 const float* weights, int pitch, int term,
                                 WarpSums<2, kColumns>& sums) {
  constexpr bool kTurned = kKind == Kind::kGradient;
  const Lane lane;
  const auto weight = [&](int k, int n) {
    return weights[kTurned ? n * pitch + term + k : (term + k) * pitch + n];
  };
  if constexpr (kPrecision == Precision::kFp32) {
    add_plain(
        sums, [&](int i, int half, int k) { return image[pixels[i][half] + term + k]; }, weight);
  } else {
    const auto load_a = [&](int i, float(&into)[4]) {
      for (int half = 0; half < 2; ++half) {
        const float* const at = image + pixels[i][half] + term + 2 * lane.t;
        // By rows, pixels begin anywhere.
        const float2 pair = kKind == Kind::kRows ? float2{at[0], at[1]} : pair_at(at);
        into[half] = pair.x;
        into[half + 2] = pair.y;
      }
    };
    const auto load_b = [&](int j, float(&into)[2]) {
      const int k = 2 * lane.t, n = 8 * j + lane.g;
      const float2 pair = kTurned ? pair_at(weights + n * pitch + term + k)
                                  : float2{weight(k, n), weight(k + 1, n)};
      into[0] = pair.x;
      into[1] = pair.y;
    };
    add_tensor<kPrecision>(sums, load_a, load_b);
  }
}

// A segment has 16 or 32 terms by taps, and any number of eights by rows.
template <Precision kPrecision, int kColumns, Kind kKind>
__device__ void add_segment(const ConvolveArgs& a, const float* image, const int (&pixels)[2][2],
                            const float* weights, WarpSums<2, kColumns>& sums) {
  const int pitch = Stage<kKind>::pitch(a);
  for (int first = 0; first < a.length; first += 32) {
    WarpSums<2, kColumns> some;
    auto& into = kPrecision == Precision::k3xTf32 ? some : sums;
#pragma unroll
    for (int term = 0; term < 32; term += 8)
      if (first + term < a.length)
        add_terms<kPrecision, kColumns, kKind>(image, pixels, weights, pitch, first + term, into);
    if constexpr (kPrecision == Precision::k3xTf32) add_to(sums, some);
  }
}

template <Precision kPrecision, int kColumns, Kind kKind>
__global__ void __launch_bounds__(kThreads, 4) convolve_kernel(const ConvolveArgs a) {
  float* const image = shared_memory();
  float* const ring = image + a.tile.floats();
  const int stage_floats = Stage<kKind>::floats(a);
  const int from_column = kKind == Kind::kGradient ? Stage<kKind>::pitch(a) : 1;
  const TilePlace place(a.tile, blockIdx.x);
  const Stage<kKind> stage(a);
  const Lane lane;
  const int warp = threadIdx.x / 32, across = a.columns / (8 * kColumns);
  const int first_pixel = warp / across * 32, first_column = warp % across * 8 * kColumns;
  int pixels[2][2];
  for (int i = 0; i < 2; ++i)
    for (int half = 0; half < 2; ++half)
      pixels[i][half] = a.tile.pixel_offset(first_pixel + 16 * i + 8 * half + lane.g);

  const int chunks = a.tile.channels / a.tile.chunk;
  SegmentWalk ahead(a), now(a);
  const auto load_ahead = [&] {
    if (ahead.chunk < chunks)
      stage.load(a, ahead.chunk, ahead.segment, ring + ahead.slot * stage_floats);
    end_group();
    ahead.next();
  };
  for (int i = 0; i < kStages - 1; ++i) load_ahead();
  WarpSums<2, kColumns> sums;
  for (; now.chunk < chunks; now.next()) {
    if (now.segment == 0) {
      __syncthreads();
      load_tile(a.tile, a.in, blockIdx.y, a.batch, place, now.chunk * a.tile.chunk, image);
      end_group();
      wait_for_all_but<0>();
    }
    wait_for_all_but<kStages - 2>();
    __syncthreads();
    load_ahead();
    add_segment<kPrecision, kColumns, kKind>(
        a, image + now.offset, pixels, ring + now.slot * stage_floats + first_column * from_column,
        sums);
  }
  store<2, kColumns>(a, place, first_pixel, blockIdx.z * a.columns + first_column, sums);
}

// By rows a segment is short and there are few: all weights are loaded at once, and a block goes
// over a larger tile, a warp's 32 pixels after the other.
template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(kThreads, 4) convolve_rows_kernel(const ConvolveArgs a) {
  float* const image = shared_memory();
  float* const segments = image + a.tile.floats();
  const int stage_floats = Stage<Kind::kRows>::floats(a);
  const TilePlace place(a.tile, blockIdx.x);
  const Stage<Kind::kRows> stage(a);
  for (int number = 0; number < a.segments; ++number)
    stage.load(a, 0, number, segments + number * stage_floats);
  load_tile(a.tile, a.in, blockIdx.y, a.batch, place, 0, image);
  end_group();
  wait_for_all_but<0>();
  __syncthreads();
  const Lane lane;
  const int warp = threadIdx.x / 32, across = a.columns / (8 * kColumns);
  const int first_column = warp % across * 8 * kColumns;
  for (int first = warp / across * 32; first < a.tile.pixels(); first += kWarps / across * 32) {
    int pixels[2][2];
    for (int i = 0; i < 2; ++i)
      for (int half = 0; half < 2; ++half)
        pixels[i][half] = a.tile.pixel_offset(first + 16 * i + 8 * half + lane.g);
    WarpSums<2, kColumns> sums;
    for (int number = 0; number < a.segments; ++number)
      add_segment<kPrecision, kColumns, Kind::kRows>(
          a, image + a.tile.segment_offset(number), pixels,
          segments + number * stage_floats + first_column, sums);
    store<2, kColumns>(a, place, first, blockIdx.z * a.columns + first_column, sums);
  }
}

template <Precision kPrecision, Kind kKind>
void start(const Pass& pass, const ConvolveArgs& a) {
  const dim3 grid(tiles_of(a.tile, pass.batch), pass.nodes, a.out_channels / a.columns);
  const int stages = kKind == Kind::kRows ? a.segments : kStages;
  const std::size_t bytes = sizeof(float) * (a.tile.floats() + stages * Stage<kKind>::floats(a));
  if constexpr (kKind == Kind::kRows)
    launch(
        a.columns == 16 ? convolve_rows_kernel<kPrecision, 2> : convolve_rows_kernel<kPrecision, 4>,
        grid, kThreads, bytes, pass.stream, a);
  else
    launch(a.columns == 16 ? convolve_kernel<kPrecision, 2, kKind>
                           : convolve_kernel<kPrecision, 4, kKind>,
           grid, kThreads, bytes, pass.stream, a);
}

template <Kind kKind>
void start(const Pass& pass, ConvolveArgs a) {
  a.columns = a.out_channels % 64 == 0 ? 64 : a.out_channels % 32 == 0 ? 32 : 16;
  a.batch = pass.batch;
  a.dimension = a.bias_stride = pass.dimension;
  const int warps_across = a.columns == 64 ? 2 : 1;
  const int pixels = kKind == Kind::kRows ? kRowsPixels : 32 * kWarps / warps_across;
  a.tile = make_tile(a.tile, pixels, pass.batch);
  switch (pass.precision) {
    case Precision::kFp32:
      return start<Precision::kFp32, kKind>(pass, a);
    case Precision::k3xTf32:
    case Precision::k3xF16:
      return start<Precision::k3xTf32, kKind>(pass, a);
    case Precision::kTf32:
      return start<Precision::kTf32, kKind>(pass, a);
  }
}

}  // namespace

void convolve(const Pass& pass, const ConvShape& shape, const Rows& in, std::size_t weights,
              std::size_t bias, float* out) {
  const int chunk = shape.by_rows() ? shape.inputs : shape.inputs % 32 == 0 ? 32 : 16;
  ConvolveArgs a{.in = in,
                 .weights = pass.parameters + weights,
                 .bias = pass.parameters + bias,
                 .out = out,
                 .segments = shape.segments(),
                 .length = shape.by_rows() ? shape.length() : chunk,
                 .weight_rows = shape.length(),
                 .outputs = shape.outputs,
                 .out_channels = shape.outputs};
  a.tile = {.height = shape.height,
            .width = shape.width,
            .channels = shape.inputs,
            .chunk = chunk,
            .out_height = shape.out_height(),
            .out_width = shape.out_width(),
            .kernel = shape.kernel,
            .stride = shape.stride,
            .pitch = shape.by_rows() ? shape.inputs : chunk + 8,
            .by_rows = shape.by_rows()};
  if (shape.by_rows())
    start<Kind::kRows>(pass, a);
  else
    start<Kind::kTaps>(pass, a);
}

void convolve_inputs(const Pass& pass, const ConvShape& shape, const float* d_out,
                     std::size_t weights, float* d_in) {
  const int chunk = shape.outputs % 32 == 0 ? 32 : 16;
  ConvolveArgs a{.in = {.data = d_out,
                        .width = static_cast<std::size_t>(shape.outputs) * shape.out_height() *
                                 shape.out_width()},
                 .weights = pass.parameters + weights,
                 .out = d_in,
                 .segments = shape.segments(),
                 .length = chunk,
                 .weight_rows = shape.length(),
                 .outputs = shape.outputs,
                 .out_channels = shape.inputs};
  a.tile = {.height = shape.out_height(),
            .width = shape.out_width(),
            .channels = shape.outputs,
            .chunk = chunk,
            .spread = shape.stride,
            .out_height = shape.height,
            .out_width = shape.width,
            .kernel = shape.kernel,
            .pitch = chunk + 8};
  start<Kind::kGradient>(pass, a);
}

}  // namespace tessera::cuda
