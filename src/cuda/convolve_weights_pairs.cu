// The gradients of weights of convolve_weights.cu, of pairs of halves. Pixels are the terms, 16 at a
// time; channels and outputs lie side by side in shared memory, so both factors are read turned.
#include "cuda/launch.cuh"
#include "cuda/pairs.cuh"
#include "cuda/pairs.h"
#include "cuda/weights_tile.cuh"

namespace tessera::cuda {
namespace {

constexpr int kTogether = 16, kSummed = 32;  // Pixels.

// Where a lane reads its factors of 16 pixels.
template <int kColumns>
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
      rows[i] = shared_address(image) + kBlock * near +
                (there ? kFloat * a.tile.segment_offset(first / a.length) +
                             kHalf * (first % a.length)
                       : 0);
    }
    d_out = shared_address(tile) + (8 * near + row) * kFloat * (8 * kColumns + kPad) + kBlock * far;
  }
  __device__ void add(const int* offsets, int pixel, WarpSums<2, kColumns>& sums) const {
    const std::uint32_t from = d_out + pixel * kFloat * (8 * kColumns + kPad);
    RightPairs<kColumns> right;
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      load_turned_blocks(from + 16 * j * kHalf, right.big[j]);
      load_turned_blocks(from + 16 * j * kHalf + 8 * kColumns * kHalf, right.small[j]);
    }
    const std::uint32_t at = kFloat * offsets[pixel + in_pixel];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t big[4], smaller[4];
      load_turned_blocks(rows[i] + at, big);
      load_turned_blocks(rows[i] + at + small, smaller);
      add_pairs<kColumns>(big, smaller, right, sums.at[i]);
    }
  }
};

template <int kColumns>
__global__ void __launch_bounds__(32 * kWarpsMax, 3) weights_pairs_kernel(const WeightsArgs a) {
  extern __shared__ float4 shared[];
  float* const image = reinterpret_cast<float*>(shared);
  float* const d_out = image + a.tile.floats();
  const int pixels = padded_pixels(a.tile, kTogether);
  int* const offsets = reinterpret_cast<int*>(d_out + pixels * (8 * kColumns + kPad));
  const int group = blockIdx.x % a.row_groups, chunk = blockIdx.x / a.row_groups % a.chunks;
  const int first_column = blockIdx.x / (a.row_groups * a.chunks) * 8 * kColumns;
  const int first_row = (group * (blockDim.x / 32) + threadIdx.x / 32) * 32;
  for (int pixel = threadIdx.x; pixel < pixels; pixel += blockDim.x)
    offsets[pixel] = a.tile.pixel_offset(pixel);
  const Readers<kColumns> readers(a, image, d_out, first_row);

  WarpSums<2, kColumns> sums;
  const int per_part = (a.part + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  const int tiles = (a.batch + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  for (int number = blockIdx.z * per_part; number < min((blockIdx.z + 1) * per_part, tiles);
       ++number) {
    const TilePlace place(a.tile, number);
    __syncthreads();
    load_tile(a.tile, a.in, blockIdx.y, a.batch, place, chunk * a.tile.chunk, image);
    load_d_out<kColumns, kPad, kTogether>(a, place, first_column, d_out);
    end_group();
    wait_for_all_but<0>();
    __syncthreads();
    for (int first = 0; first < pixels && first_row < a.segments * a.length; first += kSummed) {
      WarpSums<2, kColumns> some;
#pragma unroll
      for (int pixel = 0; pixel < kSummed; pixel += kTogether)
        if (first + pixel < pixels) readers.add(offsets, first + pixel, some);
      add_to(sums, some);
    }
  }
  store_weights<kColumns>(a, chunk, first_row, first_column, sums);
}

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
  const int chunk = pair_group(shape.inputs);
  const int warps = fill_args(pass, shape, chunk, chunk + kPad, a);
  const int columns = pair_group(shape.outputs);
  const dim3 grid(a.row_groups * a.chunks * (shape.outputs / columns), pass.nodes,
                  weight_parts(shape, pass.batch));
  const std::size_t pixels = padded_pixels(a.tile, kTogether);
  const std::size_t bytes =
      sizeof(float) * (a.tile.floats() + pixels * (columns + kPad)) + sizeof(int) * pixels;
  launch(columns == 32 ? weights_pairs_kernel<4> : weights_pairs_kernel<2>, grid, 32 * warps, bytes,
         pass.stream, a);
}

}  // namespace tessera::cuda
