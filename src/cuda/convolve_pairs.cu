// The convolutions of convolve.cu and the gradients of their inputs, of pairs of halves. A warp
// makes 32 or 64 pixels times 16 or 32 channels. Terms are added segment by segment: one order for
// every result, whatever the tiles are.
#include "cuda/conv_stage.cuh"
#include "cuda/launch.cuh"
#include "cuda/pairs.cuh"
#include "cuda/pairs.h"

namespace tessera::cuda {
namespace {

// Where a lane reads the right factors of a segment, from the stage's begin on.
template <Precision kPrecision, int kColumns, int kTerms, Kind kKind>
struct RightReader {
  static constexpr bool kTurned = kKind == Kind::kGradient;
  int first, pitch;  // Bytes.

  __device__ RightReader(const ConvolveArgs& a, int first_column)
      : pitch(kFloat * Stage<kKind>::pitch(a)) {
    const int lane = threadIdx.x % 32, row = lane % 8, near = lane / 8 % 2, far = lane / 16;
    first = kTurned ? (first_column + 8 * far + row) * pitch + kBlock * near
                    : (8 * near + row) * pitch + kFloat * first_column + kBlock * far;
  }
  __device__ void load(std::uint32_t stage, int step, RightPairs<kColumns>& right) const {
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      const std::uint32_t at =
          stage + first +
          (kTurned ? 16 * j * pitch + 16 * step * kHalf : 16 * step * pitch + 16 * j * kHalf);
      constexpr bool kSmall = kPrecision != Precision::kTf32;
      if constexpr (kTurned) {
        load_blocks(at, right.big[j]);
        if constexpr (kSmall) load_blocks(at + kTerms * kHalf, right.small[j]);
      } else {
        load_turned_blocks(at, right.big[j]);
        if constexpr (kSmall) load_turned_blocks(at + 8 * kColumns * kHalf, right.small[j]);
      }
    }
  }
};

// The terms of one segment; `pixels` are where a lane's rows of the image begin.
template <Precision kPrecision, int kRows, int kColumns, int kTerms, typename Reader>
__device__ void add_segment(const std::uint32_t (&pixels)[kRows], int offset, const Reader& reader,
                            std::uint32_t stage, WarpSums<kRows, kColumns>& sums) {
  constexpr int kSteps = kTerms / 16;
  RightPairs<kColumns> right[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) reader.load(stage, step, right[step]);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    float some[kColumns][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      std::uint32_t big[4], small[4];
      const std::uint32_t at = pixels[i] + kFloat * offset + 16 * step * kHalf;
      load_blocks(at, big);
      if constexpr (kPrecision != Precision::kTf32) load_blocks(at + kTerms * kHalf, small);
      add_pairs<kPrecision, kColumns>(big, small, right[step], some);
    }
    add_row<kColumns>(sums.at[i], some);
  }
}

template <Precision kPrecision, int kRows, int kColumns, int kTerms, Kind kKind>
__global__ void __launch_bounds__(kThreads, kRows == 4 ? 3 : 4)
    convolve_pairs_kernel(const ConvolveArgs a) {
  float* const image = shared_memory();
  float* const ring = image + a.tile.floats();
  const int stage_floats = Stage<kKind>::floats(a);
  const TilePlace place(a.tile, blockIdx.x);
  const Stage<kKind> stage(a);
  const int warp = threadIdx.x / 32, across = a.columns / (8 * kColumns);
  const int first_pixel = warp / across * 16 * kRows, first_column = warp % across * 8 * kColumns;
  const RightReader<kPrecision, kColumns, kTerms, kKind> reader(a, first_column);
  std::uint32_t pixels[kRows];
  for (int i = 0; i < kRows; ++i)
    pixels[i] = shared_address(image) +
                kFloat * a.tile.pixel_offset(first_pixel + 16 * i + threadIdx.x % 16) +
                kBlock * (threadIdx.x % 32 / 16);

  const int chunks = a.tile.channels / a.tile.chunk;
  SegmentWalk ahead(a), now(a);
  const auto load_ahead = [&] {
    if (ahead.chunk < chunks)
      stage.load(a, ahead.chunk, ahead.segment, ring + ahead.slot * stage_floats);
    end_group();
    ahead.next();
  };
  for (int i = 0; i < kStages - 1; ++i) load_ahead();
  WarpSums<kRows, kColumns> sums;
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
    add_segment<kPrecision, kRows, kColumns, kTerms>(
        pixels, now.offset, reader, shared_address(ring + now.slot * stage_floats), sums);
  }
  store<kRows, kColumns>(a, place, first_pixel, blockIdx.z * a.columns + first_column, sums);
}

template <int kRows, int kColumns, int kTerms, Kind kKind>
void start(const Pass& pass, const ConvolveArgs& a) {
  const dim3 grid(tiles_of(a.tile, pass.batch), pass.nodes, a.out_channels / a.columns);
  const auto kernel =
      pass.precision == Precision::kTf32
          ? convolve_pairs_kernel<Precision::kTf32, kRows, kColumns, kTerms, kKind>
          : convolve_pairs_kernel<Precision::k3xF16, kRows, kColumns, kTerms, kKind>;
  launch(kernel, grid, kThreads,
         sizeof(float) * (a.tile.floats() + kStages * Stage<kKind>::floats(a)), pass.stream, a);
}

// Larger tiles read less, as long as there are enough of them to fill a large GPU three times over.
constexpr int kLargeTiles = 384;

template <Kind kKind>
void start(const Pass& pass, ConvolveArgs a) {
  a.columns = a.out_channels % 64 == 0 ? 64 : a.out_channels % 32 == 0 ? 32 : 16;
  a.batch = pass.batch;
  a.bias_stride = pass.dimension;
  a.turned_pad = kPad;
  const int warps_down = a.columns == 64 ? kWarps / 2 : kWarps;
  const ConvTile large = make_tile(a.tile, 64 * warps_down, pass.batch);
  const int large_tiles = tiles_of(large, pass.batch) * pass.nodes * (a.out_channels / a.columns);
  if (a.columns >= 32 && a.length == 32 && large_tiles >= kLargeTiles) {
    a.tile = large;
    return start<4, 4, 32, kKind>(pass, a);
  }
  a.tile = make_tile(a.tile, 32 * warps_down, pass.batch);
  if (a.columns >= 32)
    return a.length == 32 ? start<2, 4, 32, kKind>(pass, a) : start<2, 4, 16, kKind>(pass, a);
  a.length == 32 ? start<2, 2, 32, kKind>(pass, a) : start<2, 2, 16, kKind>(pass, a);
}

}  // namespace

void convolve_pairs(const Pass& pass, const ConvShape& shape, const Pairs& in, const Pairs& weights,
                    std::size_t bias, float* out) {
  const int chunk = pair_group(shape.inputs);
  ConvolveArgs a{
      .in = {.data = in.data,
             .width = static_cast<std::size_t>(shape.inputs) * shape.height * shape.width},
      .weights = weights.data,
      .bias = pass.parameters + bias,
      .out = out,
      .dimension = static_cast<std::size_t>(shape.rows()) * shape.outputs,
      .segments = shape.segments(),
      .length = chunk,
      .weight_rows = shape.length(),
      .outputs = shape.outputs,
      .out_channels = shape.outputs,
      .of_image = in.unit,
      .of_node = weights.unit};
  a.tile = {.height = shape.height,
            .width = shape.width,
            .channels = shape.inputs,
            .chunk = chunk,
            .out_height = shape.out_height(),
            .out_width = shape.out_width(),
            .kernel = shape.kernel,
            .stride = shape.stride,
            .pitch = chunk + kPad};
  start<Kind::kTaps>(pass, a);
}

void convolve_inputs_pairs(const Pass& pass, const ConvShape& shape, const Pairs& d_out,
                           const Pairs& weights, float* d_in) {
  const int chunk = pair_group(shape.outputs);
  ConvolveArgs a{.in = {.data = d_out.data,
                        .width = static_cast<std::size_t>(shape.outputs) * shape.out_height() *
                                 shape.out_width()},
                 .weights = weights.data,
                 .out = d_in,
                 .dimension = static_cast<std::size_t>(shape.rows()) * shape.outputs,
                 .segments = shape.segments(),
                 .length = chunk,
                 .weight_rows = shape.length(),
                 .outputs = shape.outputs,
                 .out_channels = shape.inputs,
                 .of_image = d_out.unit,
                 .of_node = weights.unit};
  a.tile = {.height = shape.out_height(),
            .width = shape.out_width(),
            .channels = shape.outputs,
            .chunk = chunk,
            .spread = shape.stride,
            .out_height = shape.height,
            .out_width = shape.width,
            .kernel = shape.kernel,
            .pitch = chunk + kPad};
  start<Kind::kGradient>(pass, a);
}

}  // namespace tessera::cuda
