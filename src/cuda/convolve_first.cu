// A first convolution, of pixels that are four larger halves and four smaller ones, 16 bytes: a row
// of an 8x8 block of the tensor cores' is a pixel. Two taps are 16 terms. Weights lie beside both
// kinds of halves (split.cu), so that two products make one of float32's accuracy.
#include <algorithm>

#include "cuda/conv_stage.cuh"
#include "cuda/launch.cuh"
#include "cuda/pairs.cuh"
#include "cuda/pairs.h"
#include "cuda/weights_tile.cuh"

namespace tessera::cuda {
namespace {

constexpr int kRows = 4;      // Tiles of 16 pixels that a warp makes at a time.
constexpr int kSteps = 4;     // Two taps each: 32 products are summed up by the tensor cores.
constexpr int kPixel = 16;    // Bytes.
constexpr int kBlocks = 384;  // As many as a large GPU has room for.

// A lane's place among the taps, two further with every step; past the last it stands at the first,
// whose products count nothing there.
struct TapWalk {
  __device__ TapWalk(const ConvTile& tile, int first)
      : kernel_(tile.kernel),
        across_(tile.in_columns()),
        row_(first / tile.kernel),
        column_(first % tile.kernel) {}
  __device__ int offset() const { return row_ < kernel_ ? kPixel * (row_ * across_ + column_) : 0; }
  __device__ void next() {
    for (column_ += 2; column_ >= kernel_; column_ -= kernel_) ++row_;
  }

 private:
  int kernel_, across_, row_, column_;
};

template <int kColumns>
__device__ void load_first_weights(const ConvolveArgs& a, float* to) {
  constexpr int kQuads = 2 * kColumns, kPitch = 8 * kColumns + kPad;
  const float* const from = a.weights + blockIdx.y * a.dimension + blockIdx.z * 8 * kColumns;
  for (int i = threadIdx.x; i < a.weight_rows * kQuads; i += kThreads)
    copy16(to + i / kQuads * kPitch + i % kQuads * 4,
           from + i / kQuads * a.outputs + i % kQuads * 4, true);
}

// As many as a block's warps take, those past the end standing for the first.
__host__ __device__ inline int tile_pixels(const ConvTile& tile) {
  return padded_pixels(tile, 16 * kRows);
}

// The sums of 64 pixels from `first` on. `offsets` has where each pixel's first tap lies.
template <Precision kPrecision, int kColumns>
__device__ void add_pixels(const ConvolveArgs& a, const float* image, const float* weights,
                           const int* offsets, int first, WarpSums<kRows, kColumns>& sums) {
  constexpr int kPitch = kFloat * (8 * kColumns + kPad);
  const int lane = threadIdx.x % 32;
  const std::uint32_t right_at =
      shared_address(weights) + (8 * (lane / 8 % 2) + lane % 8) * kPitch + kBlock * (lane / 16);
  std::uint32_t pixels[kRows];
  for (int i = 0; i < kRows; ++i)
    pixels[i] = shared_address(image) + kFloat * offsets[first + 16 * i + lane % 16];
  TapWalk tap(a.tile, lane / 16);
  for (int begin = 0; begin < a.weight_rows; begin += 16 * kSteps) {
    WarpSums<kRows, kColumns> some;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int row = begin + 16 * step;
      if (row >= a.weight_rows) break;
      RightPairs<kColumns> right;
#pragma unroll
      for (int j = 0; j < kColumns / 2; ++j) {
        const std::uint32_t at = right_at + row * kPitch + 16 * j * kHalf;
        load_turned_blocks(at, right.big[j]);
        if constexpr (kPrecision != Precision::kTf32)
          load_turned_blocks(at + 8 * kColumns * kHalf, right.small[j]);
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        std::uint32_t two_taps[4];
        load_blocks(pixels[i] + tap.offset(), two_taps);
        add_mixed<kPrecision, kColumns>(two_taps, right, some.at[i]);
      }
      tap.next();
    }
    add_to(sums, some);
  }
}

// A block loads a node's weights once and goes from tile to tile; the next is copied meanwhile.
template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(kThreads, 3) convolve_first_kernel(const ConvolveArgs a) {
  float* const images[2] = {shared_memory(), shared_memory() + a.tile.floats()};
  float* const weights = images[1] + a.tile.floats();
  int* const offsets = reinterpret_cast<int*>(weights + a.weight_rows * (8 * kColumns + kPad));
  for (int pixel = threadIdx.x; pixel < tile_pixels(a.tile); pixel += kThreads)
    offsets[pixel] = a.tile.pixel_offset(pixel);
  const int tiles = tiles_of(a.tile, a.batch);
  const auto load = [&](int number, int turn) {
    if (number < tiles)
      load_tile(a.tile, a.in, blockIdx.y, a.batch, TilePlace(a.tile, number), 0, images[turn]);
    end_group();
  };
  load_first_weights<kColumns>(a, weights);
  load(blockIdx.x, 0);
  for (int number = blockIdx.x, turn = 0; number < tiles; number += gridDim.x, turn ^= 1) {
    load(number + gridDim.x, turn ^ 1);
    wait_for_all_but<1>();
    __syncthreads();
    const TilePlace place(a.tile, number);
    for (int first = threadIdx.x / 32 * 16 * kRows; first < a.tile.pixels();
         first += kWarps * 16 * kRows) {
      WarpSums<kRows, kColumns> sums;
      add_pixels<kPrecision, kColumns>(a, images[turn], weights, offsets, first, sums);
      store<kRows, kColumns>(a, place, first, blockIdx.z * 8 * kColumns, sums);
    }
    __syncthreads();
  }
}

// The tile of d_out as pairs. Each is used by one block alone.
template <int kColumns>
__device__ void split_d_out(const WeightsArgs& a, const TilePlace& place, int first_column,
                            int pixels, float up, float* to) {
  constexpr int kQuads = 2 * kColumns, kPitch = 8 * kColumns + kPad;
  const DOutTile tile(a, place, first_column);
  for (int i = threadIdx.x; i < pixels * kQuads; i += blockDim.x) {
    const int pixel = i / kQuads, quad = i % kQuads;
    const float4 x = pixel < tile.there ? tile.quad(pixel, quad) : float4{0, 0, 0, 0};
    store_pairs(x, up, 8 * kColumns, reinterpret_cast<half*>(to + pixel * kPitch) + 4 * quad);
  }
}

// By the largest number of the node's batch.
__device__ Scale scale_of_batch(const WeightsArgs& a) {
  float largest = 0;
  for (int image = threadIdx.x; image < a.batch; image += blockDim.x)
    largest = fmaxf(largest, a.of_d_out[blockIdx.y * a.batch + image]);
  return scale_for(block_max(largest));
}

// A lane pair g and g + 4 has the sums of a pixel's larger and smaller halves.
template <int kColumns>
__device__ void store_first(const WeightsArgs& a, int first_tap, int first_column, float factor,
                            const WarpSums<2, kColumns>& sums) {
  const Lane lane;
  const int kernel = a.tile.kernel, inputs = a.taps_by_row / kernel;
  float* const to =
      a.d_weights +
      (static_cast<std::size_t>(blockIdx.y) * gridDim.z + blockIdx.z) * a.rows * a.outputs +
      first_column;
  for (int i = 0; i < 2; ++i)
    for (int half = 0; half < 2; ++half) {
      const int tap = first_tap + 2 * i + half;
      const int row = tap / kernel * a.length + tap % kernel * inputs + lane.g;
      for (int j = 0; j < kColumns; ++j) {
        float pair[2];
        for (int n = 0; n < 2; ++n) {
          const float own = sums.at[i][j][2 * half + n];
          pair[n] = (own + __shfl_xor_sync(0xffffffff, own, 16)) * factor;
        }
        if (lane.g < inputs && tap < kernel * kernel)
          *reinterpret_cast<float2*>(to + row * a.outputs + 8 * j + 2 * lane.t) = {pair[0],
                                                                                   pair[1]};
      }
    }
  // What fills up a segment is no weight.
  const int filling = a.length - a.taps_by_row;
  for (int i = threadIdx.x; i < kernel * filling * 8 * kColumns; i += blockDim.x) {
    const int row = i / (8 * kColumns);
    to[(row / filling * a.length + a.taps_by_row + row % filling) * a.outputs +
       i % (8 * kColumns)] = 0;
  }
}

template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(32 * 7, 3) first_weights_kernel(const WeightsArgs a) {
  constexpr int kPitch = kFloat * (8 * kColumns + kPad), kTogether = 16, kSummed = 32;
  float* const image = shared_memory();
  float* const d_out = image + a.tile.floats();
  const int pixels = padded_pixels(a.tile, kTogether);
  int* const offsets = reinterpret_cast<int*>(d_out + pixels * (8 * kColumns + kPad));
  for (int pixel = threadIdx.x; pixel < pixels; pixel += blockDim.x)
    offsets[pixel] = a.tile.pixel_offset(pixel);
  const int lane = threadIdx.x % 32, near = lane / 8 % 2, far = lane / 16;
  const int first_tap = threadIdx.x / 32 * 4, first_column = blockIdx.x * 8 * kColumns;
  std::uint32_t taps[2];
  for (int i = 0; i < 2; ++i)
    taps[i] = shared_address(image) + TapWalk(a.tile, first_tap + 2 * i + near).offset();
  const std::uint32_t right_at =
      shared_address(d_out) + (8 * near + lane % 8) * kPitch + kBlock * far;

  const Scale scale = scale_of_batch(a);
  WarpSums<2, kColumns> sums;
  const int per_part = (a.part + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  const int tiles = (a.batch + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  for (int number = blockIdx.z * per_part; number < min((blockIdx.z + 1) * per_part, tiles);
       ++number) {
    const TilePlace place(a.tile, number);
    __syncthreads();
    load_tile(a.tile, a.in, blockIdx.y, a.batch, place, 0, image);
    end_group();
    split_d_out<kColumns>(a, place, first_column, pixels, scale.up, d_out);
    wait_for_all_but<0>();
    __syncthreads();
    for (int first = 0; first < pixels; first += kSummed) {
      WarpSums<2, kColumns> some;
#pragma unroll
      for (int pixel = first; pixel < first + kSummed; pixel += kTogether) {
        if (pixel >= pixels) break;
        RightPairs<kColumns> right;
#pragma unroll
        for (int j = 0; j < kColumns / 2; ++j) {
          const std::uint32_t at = right_at + pixel * kPitch + 16 * j * kHalf;
          load_turned_blocks(at, right.big[j]);
          if constexpr (kPrecision != Precision::kTf32)
            load_turned_blocks(at + 8 * kColumns * kHalf, right.small[j]);
        }
        const int own = kFloat * offsets[pixel + 8 * far + lane % 8];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          std::uint32_t two_taps[4];
          load_turned_blocks(taps[i] + own, two_taps);
          add_mixed<kPrecision, kColumns>(two_taps, right, some.at[i]);
        }
      }
      add_to(sums, some);
    }
  }
  store_first<kColumns>(a, first_tap, first_column, scale.unit * a.of_all, sums);
}

template <Precision kPrecision>
auto first_kernel(int columns) {
  return columns == 32 ? convolve_first_kernel<kPrecision, 4>
                       : convolve_first_kernel<kPrecision, 2>;
}
template <Precision kPrecision>
auto weights_kernel(int columns) {
  return columns == 32 ? first_weights_kernel<kPrecision, 4> : first_weights_kernel<kPrecision, 2>;
}

ConvTile pixel_tile(const ConvShape& shape) {
  return {.height = shape.height,
          .width = shape.width,
          .channels = 4,
          .chunk = 4,
          .out_height = shape.out_height(),
          .out_width = shape.out_width(),
          .kernel = shape.kernel,
          .pitch = 4};
}

}  // namespace

void convolve_first(const Pass& pass, const ConvShape& shape, const PixelPairs& in,
                    const Pairs& weights, std::size_t bias, float* out) {
  const int columns = pair_group(shape.outputs);
  ConvolveArgs a{.in = in.rows,
                 .weights = weights.data,
                 .bias = pass.parameters + bias,
                 .out = out,
                 .dimension = first_weights_size(shape),
                 .bias_stride = pass.dimension,
                 .batch = pass.batch,
                 .weight_rows = static_cast<int>(first_weights_size(shape)) / shape.outputs,
                 .outputs = shape.outputs,
                 .columns = columns,
                 .out_channels = shape.outputs,
                 .of_node = weights.unit,
                 .of_all = in.unit};
  a.tile = make_tile(pixel_tile(shape), kRowsPixels, pass.batch);
  const int tiles = tiles_of(a.tile, pass.batch), across = shape.outputs / columns;
  const int blocks =
      std::clamp((kBlocks + pass.nodes * across - 1) / (pass.nodes * across), 1, tiles);
  const std::size_t floats = 2 * a.tile.floats() + a.weight_rows * (columns + kPad);
  launch(pass.precision == Precision::kTf32 ? first_kernel<Precision::kTf32>(columns)
                                            : first_kernel<Precision::k3xF16>(columns),
         dim3(blocks, pass.nodes, across), kThreads,
         sizeof(float) * floats + sizeof(int) * tile_pixels(a.tile), pass.stream, a);
}

void convolve_first_weights(const Pass& pass, const ConvShape& shape, const PixelPairs& in,
                            const Rows& d_out, float* d_weights) {
  WeightsArgs a{.in = in.rows,
                .d_out = d_out.data,
                .d_weights = d_weights,
                .of_d_out = d_out.maxima,
                .of_all = in.unit};
  fill_args(pass, shape, shape.inputs, shape.inputs, 1, a);
  a.tile = make_tile(pixel_tile(shape), pixels_in_tile(shape), pass.batch);
  const int columns = pair_group(shape.outputs);
  const int warps = (shape.kernel * shape.kernel + 3) / 4;
  const dim3 grid(shape.outputs / columns, pass.nodes, weight_parts(shape, pass.batch));
  const std::size_t pixels = padded_pixels(a.tile, 16);
  const std::size_t bytes =
      sizeof(float) * (a.tile.floats() + pixels * (columns + kPad)) + sizeof(int) * pixels;
  launch(pass.precision == Precision::kTf32 ? weights_kernel<Precision::kTf32>(columns)
                                            : weights_kernel<Precision::k3xF16>(columns),
         grid, 32 * warps, bytes, pass.stream, a);
}

}  // namespace tessera::cuda
