// The gradients of weights of convolve_weights.cu, of pairs of halves. Pixels are the terms, 16 at
// a time; channels and outputs lie side by side in shared memory, so both factors are read turned.
#include "cuda/launch.cuh"
#include "cuda/pairs.cuh"
#include "cuda/pairs.h"
#include "cuda/weights_tile.cuh"

namespace tessera::cuda {
namespace {

constexpr int kWarpsMax = 9;
constexpr int kTogether = 16, kSummed = 32;  // Pixels.

// Where a lane reads its factors of 16 pixels.
template <Precision kPrecision, int kColumns>
struct Readers {
  std::uint32_t rows[2];  // Of the two tiles of 16 rows, for a pixel that lies at 0.
  std::uint32_t d_out;
  int small;     // Bytes from larger halves of the image to the smaller ones.
  int in_pixel;  // Which of the 16 pixels.

  __device__ Readers(const WeightsArgs& a, const float* image, const float* tile, int first_row)
      : small(kHalf * a.length) {
    const int lane = threadIdx.x % 32, row = lane % 8, near = lane / 8 % 2, far = lane / 16;
    in_pixel = 8 * far + row;
    for (int i = 0; i < 2; ++i) {
      const int first = first_row + 16 * i;
      const bool there = first < a.segments * a.length;
      rows[i] =
          shared_address(image) + kBlock * near +
          (there ? kFloat * a.tile.segment_offset(first / a.length) + kHalf * (first % a.length)
                 : 0);
    }
    d_out = shared_address(tile) + (8 * near + row) * kFloat * (8 * kColumns + kPad) + kBlock * far;
  }
  __device__ void add(const int* offsets, int pixel, int buffer,
                      WarpSums<2, kColumns>& sums) const {
    const std::uint32_t from = d_out + buffer + pixel * kFloat * (8 * kColumns + kPad);
    RightPairs<kColumns> right;
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      load_turned_blocks(from + 16 * j * kHalf, right.big[j]);
      if constexpr (kPrecision != Precision::kTf32)
        load_turned_blocks(from + 16 * j * kHalf + 8 * kColumns * kHalf, right.small[j]);
    }
    const std::uint32_t at = buffer + kFloat * offsets[pixel + in_pixel];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t big[4], smaller[4];
      load_turned_blocks(rows[i] + at, big);
      if constexpr (kPrecision != Precision::kTf32)
        load_turned_blocks(rows[i] + at + small, smaller);
      add_pairs<kPrecision, kColumns>(big, smaller, right, sums.at[i]);
    }
  }
};

// What a block computes from while the next tile is copied, and the other way round: the second
// image and d_out lie `apart` floats from the first.
struct Buffers {
  float* image;
  float* d_out;
  int apart;
  int* offsets;
  __device__ Buffers(float* begin, const WeightsArgs& a, int d_out_floats)
      : image(begin),
        d_out(begin + a.tile.floats()),
        apart(a.tile.floats() + d_out_floats),
        offsets(reinterpret_cast<int*>(begin + 2 * apart)) {}
};
std::size_t buffer_bytes(const ConvTile& tile, int columns) {
  const int pixels = padded_pixels(tile, kTogether);
  return sizeof(float) * 2 * (tile.floats() + pixels * (columns + kPad)) + sizeof(int) * pixels;
}

template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(32 * kWarpsMax, 2) weights_pairs_kernel(const WeightsArgs a) {
  const int pixels = padded_pixels(a.tile, kTogether);
  const Buffers buffers(shared_memory(), a, pixels * (8 * kColumns + kPad));
  const int group = blockIdx.x % a.row_groups, chunk = blockIdx.x / a.row_groups % a.chunks;
  const int first_column = blockIdx.x / (a.row_groups * a.chunks) * 8 * kColumns;
  const int first_row = (group * (blockDim.x / 32) + threadIdx.x / 32) * 32;
  for (int pixel = threadIdx.x; pixel < pixels; pixel += blockDim.x)
    buffers.offsets[pixel] = a.tile.pixel_offset(pixel);
  const Readers<kPrecision, kColumns> readers(a, buffers.image, buffers.d_out, first_row);

  const int per_part = (a.part + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  const int tiles = (a.batch + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  const int first = blockIdx.z * per_part, last = min(first + per_part, tiles);
  const auto load = [&](int number, int turn) {
    if (number < last) {
      const TilePlace place(a.tile, number);
      load_tile(a.tile, a.in, blockIdx.y, a.batch, place, chunk * a.tile.chunk,
                buffers.image + turn * buffers.apart);
      load_d_out<kColumns, kPad, kTogether>(a, place, first_column,
                                            buffers.d_out + turn * buffers.apart);
    }
    end_group();
  };
  WarpSums<2, kColumns> sums;
  load(first, 0);
  for (int number = first, turn = 0; number < last; ++number, turn ^= 1) {
    load(number + 1, turn ^ 1);
    wait_for_all_but<1>();
    __syncthreads();
    for (int begin = 0; begin < pixels && first_row < a.segments * a.length; begin += kSummed) {
      WarpSums<2, kColumns> some;
#pragma unroll
      for (int pixel = 0; pixel < kSummed; pixel += kTogether)
        if (begin + pixel < pixels)
          readers.add(buffers.offsets, begin + pixel, turn * kFloat * buffers.apart, some);
      add_to(sums, some);
    }
    __syncthreads();
  }
  store_weights<kColumns>(a, chunk, first_row, first_column, sums);
}

template <Precision kPrecision>
auto kernel_for(int columns) {
  return columns == 32 ? weights_pairs_kernel<kPrecision, 4> : weights_pairs_kernel<kPrecision, 2>;
}

// Two blocks share a multiprocessor's memory.
constexpr std::size_t kBytesMax = 110 * 1024;

}  // namespace

void convolve_weights_pairs(const Pass& pass, const ConvShape& shape, const Pairs& in,
                            const Pairs& d_out, float* d_weights) {
  WeightsArgs a{
      .in = {.data = in.data,
             .width = static_cast<std::size_t>(shape.inputs) * shape.height * shape.width},
      .d_out = d_out.data,
      .d_weights = d_weights,
      .of_in = in.unit,
      .of_d_out = d_out.unit};
  const int chunk = pair_group(shape.inputs), columns = pair_group(shape.outputs);
  const int warps = fill_args(pass, shape, chunk, chunk + kPad, kWarpsMax, a);
  if (a.tile.images > 1 && buffer_bytes(a.tile, columns) > kBytesMax) a.tile.images = 1;
  const dim3 grid(a.row_groups * a.chunks * (shape.outputs / columns), pass.nodes,
                  weight_parts(shape, pass.batch));
  launch(pass.precision == Precision::kTf32 ? kernel_for<Precision::kTf32>(columns)
                                            : kernel_for<Precision::k3xF16>(columns),
         grid, 32 * warps, buffer_bytes(a.tile, columns), pass.stream, a);
}

}  // namespace tessera::cuda
