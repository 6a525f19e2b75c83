// Gradients of a convolution's weights, d_weights[row][output] = sum over pixels of
// in[pixel, row's tap and channel] d_out[pixel, output]. A warp makes 32 rows times 16 or 32
// outputs; the warps of a block share a tile of the image, of one chunk of channels, and of d_out.
// Pixels are the terms: image by image of a part of the batch, tile by tile, eight at a time.
#include <algorithm>

#include "cuda/conv_tile.cuh"
#include "cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kWarpsMax = 5;

struct WeightsArgs {
  ConvTile tile;
  Rows in;
  const float* d_out;
  float* d_weights;
  int batch, part;       // `part` images to a block.
  int rows, outputs;     // Of the whole matrix.
  int segments, length;  // Of a chunk of channels.
  int weight_rows;       // From segment to segment.
  int row_groups, chunks;
  int taps_by_row;  // By rows: floats of a kernel's row that are weights; else `length`.
};

__host__ __device__ inline int padded_pixels(const ConvTile& tile) {
  return (tile.pixels() + 7) / 8 * 8;
}

// d_out's tile, [pixels][columns] with a pitch of columns + 8: zeros where the batch or the image
// has ended, and up to a multiple of eight.
template <int kColumns>
__device__ void load_d_out(const WeightsArgs& a, const TilePlace& place, int first_column,
                           float* to) {
  constexpr int kQuads = 2 * kColumns, kPitch = 8 * kColumns + 8;
  // A tile's pixels lie side by side, whole images too.
  const int rows = a.tile.images > 1 ? min(a.tile.images, a.batch - place.image) * a.tile.out_height
                                     : min(a.tile.rows, a.tile.out_height - place.y);
  const std::size_t first =
      ((static_cast<std::size_t>(blockIdx.y) * a.batch + place.image) * a.tile.out_height +
       place.y) *
      a.tile.out_width;
  const float* const from = a.d_out + first * a.outputs + first_column;
  const int there = rows * a.tile.out_width;
  for (int i = threadIdx.x; i < padded_pixels(a.tile) * kQuads; i += blockDim.x) {
    const int pixel = i / kQuads, quad = i % kQuads;
    copy16(to + pixel * kPitch + 4 * quad,
           pixel < there ? from + static_cast<std::size_t>(pixel) * a.outputs + 4 * quad : a.d_out,
           pixel < there);
  }
}

// Eight pixels from `pixel` on.
template <Precision kPrecision, int kColumns>
__device__ inline void add_pixels(const float* image, const int* offsets, const float* d_out,
                                  int pixel, const int (&rows)[2][2], WarpSums<2, kColumns>& sums) {
  constexpr int kPitch = 8 * kColumns + 8;
  const Lane lane;
  const auto gradient = [&](int k, int n) { return d_out[(pixel + k) * kPitch + n]; };
  if constexpr (kPrecision == Precision::kFp32) {
    add_plain(
        sums, [&](int i, int half, int k) { return image[rows[i][half] + offsets[pixel + k]]; },
        gradient);
  } else {
    const int near = offsets[pixel + lane.t], far = offsets[pixel + lane.t + 4];
    const auto load_a = [&](int i, float(&into)[4]) {
      for (int half = 0; half < 2; ++half) {
        into[half] = image[rows[i][half] + near];
        into[half + 2] = image[rows[i][half] + far];
      }
    };
    const auto load_b = [&](int j, float(&into)[2]) {
      into[0] = gradient(lane.t, 8 * j + lane.g);
      into[1] = gradient(lane.t + 4, 8 * j + lane.g);
    };
    add_tensor<kPrecision>(sums, load_a, load_b);
  }
}

template <Precision kPrecision, int kColumns>
__device__ void add_tile(const WeightsArgs& a, const float* image, const int* offsets,
                         const float* d_out, const int (&rows)[2][2], WarpSums<2, kColumns>& sums) {
  const int all = padded_pixels(a.tile);
  for (int first = 0; first < all; first += 32) {
    WarpSums<2, kColumns> some;
    auto& into = kPrecision == Precision::k3xTf32 ? some : sums;
#pragma unroll
    for (int pixel = 0; pixel < 32; pixel += 8)
      if (first + pixel < all)
        add_pixels<kPrecision, kColumns>(image, offsets, d_out, first + pixel, rows, into);
    if constexpr (kPrecision == Precision::k3xTf32) add_to(sums, some);
  }
}

// Rows that fill up a segment are no weights: their gradient is zero, so that they stay zero.
template <int kColumns>
__device__ void store_weights(const WeightsArgs& a, int chunk, int first_row, int first_column,
                              const WarpSums<2, kColumns>& sums) {
  const Lane lane;
  float* const to = a.d_weights + (static_cast<std::size_t>(blockIdx.y) * gridDim.z + blockIdx.z) *
                                      a.rows * a.outputs;
  for (int i = 0; i < 2; ++i)
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 16 * i + 8 * half + lane.g;
      if (row >= a.segments * a.length) continue;
      const int segment = row / a.length, inside = row % a.length;
      const bool weight = inside < a.taps_by_row;
      const int at = segment * a.weight_rows + chunk * a.length + inside;
      for (int j = 0; j < kColumns; ++j) {
        const float* const pair = sums.at[i][j] + 2 * half;
        *reinterpret_cast<float2*>(to + static_cast<std::size_t>(at) * a.outputs + first_column +
                                   8 * j + 2 * lane.t) =
            weight ? float2{pair[0], pair[1]} : float2{0, 0};
      }
    }
}

template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(32 * kWarpsMax, 3) weights_kernel(const WeightsArgs a) {
  extern __shared__ float4 shared[];
  float* const image = reinterpret_cast<float*>(shared);
  float* const d_out = image + a.tile.floats();
  int* const offsets = reinterpret_cast<int*>(d_out + padded_pixels(a.tile) * (8 * kColumns + 8));
  const int group = blockIdx.x % a.row_groups, chunk = blockIdx.x / a.row_groups % a.chunks;
  const int first_column = blockIdx.x / (a.row_groups * a.chunks) * 8 * kColumns;
  const int first_row = (group * (blockDim.x / 32) + threadIdx.x / 32) * 32;
  const Lane lane;
  int rows[2][2];
  for (int i = 0; i < 2; ++i)
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 16 * i + 8 * half + lane.g;
      rows[i][half] =
          row < a.segments * a.length ? a.tile.segment_offset(row / a.length) + row % a.length : 0;
    }
  for (int pixel = threadIdx.x; pixel < padded_pixels(a.tile); pixel += blockDim.x)
    offsets[pixel] = a.tile.pixel_offset(pixel);

  WarpSums<2, kColumns> sums;
  const int per_part = (a.part + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  const int tiles = (a.batch + a.tile.images - 1) / a.tile.images * a.tile.tiles;
  for (int number = blockIdx.z * per_part; number < min((blockIdx.z + 1) * per_part, tiles);
       ++number) {
    const TilePlace place(a.tile, number);
    __syncthreads();
    load_tile(a.tile, a.in, blockIdx.y, a.batch, place, chunk * a.tile.chunk, image);
    load_d_out<kColumns>(a, place, first_column, d_out);
    end_group();
    wait_for_all_but<0>();
    __syncthreads();
    if (first_row < a.segments * a.length)
      add_tile<kPrecision, kColumns>(a, image, offsets, d_out, rows, sums);
  }
  store_weights<kColumns>(a, chunk, first_row, first_column, sums);
}

template <Precision kPrecision>
void start(const Pass& pass, const WeightsArgs& a, int warps, int parts) {
  const int columns = a.outputs % 32 == 0 ? 32 : 16;
  const dim3 grid(a.row_groups * a.chunks * (a.outputs / columns), pass.nodes, parts);
  const std::size_t pixels = padded_pixels(a.tile);
  const std::size_t bytes =
      sizeof(float) * (a.tile.floats() + pixels * (columns + 8)) + sizeof(int) * pixels;
  if (columns == 32)
    launch(weights_kernel<kPrecision, 4>, grid, 32 * warps, bytes, pass.stream, a);
  else
    launch(weights_kernel<kPrecision, 2>, grid, 32 * warps, bytes, pass.stream, a);
}

// A part has at least this many pixels: enough to be worth a block, and as many parts as it takes
// to keep a large GPU busy. It must not depend on how many nodes there are, nor then do the sums. A
// large batch is dealt to sixteen.
constexpr int kPartPixels = 512, kPartsMax = 16;

// A tile of few channels is small.
int pixels_in_tile(const ConvShape& shape) {
  return shape.by_rows() ? 256 : 128;
}

int images_in_part(const ConvShape& shape, int batch) {
  const int pixels = shape.out_height() * shape.out_width();
  return std::max((kPartPixels + pixels - 1) / pixels, (batch + kPartsMax - 1) / kPartsMax);
}

}  // namespace

int weight_parts(const ConvShape& shape, int batch) {
  const int part = images_in_part(shape, batch);
  const int tile_images =
      std::max(1, pixels_in_tile(shape) / (shape.out_height() * shape.out_width()));
  const int whole = (part + tile_images - 1) / tile_images * tile_images;
  return (batch + whole - 1) / whole;
}

void convolve_weights(const Pass& pass, const ConvShape& shape, const Rows& in, const float* d_out,
                      float* d_weights) {
  const int chunk = shape.by_rows() ? shape.inputs : shape.inputs % 32 == 0 ? 32 : 16;
  WeightsArgs a{.in = in,
                .d_out = d_out,
                .d_weights = d_weights,
                .batch = pass.batch,
                .part = images_in_part(shape, pass.batch),
                .rows = shape.rows(),
                .outputs = shape.outputs,
                .segments = shape.segments(),
                .length = shape.by_rows() ? shape.length() : chunk,
                .weight_rows = shape.length(),
                .chunks = shape.inputs / chunk};
  a.taps_by_row = shape.by_rows() ? shape.kernel * shape.inputs : a.length;
  a.tile = make_tile({.height = shape.height,
                      .width = shape.width,
                      .channels = shape.inputs,
                      .chunk = chunk,
                      .out_height = shape.out_height(),
                      .out_width = shape.out_width(),
                      .kernel = shape.kernel,
                      .stride = shape.stride,
                      .pitch = shape.by_rows() ? shape.inputs : chunk + 8,
                      .by_rows = shape.by_rows()},
                     pixels_in_tile(shape), pass.batch);
  const int warp_tiles = (a.segments * a.length + 31) / 32;
  a.row_groups = (warp_tiles + kWarpsMax - 1) / kWarpsMax;
  const int warps = (warp_tiles + a.row_groups - 1) / a.row_groups;
  const int parts = weight_parts(shape, pass.batch);
  switch (pass.precision) {
    case Precision::kFp32:
      return start<Precision::kFp32>(pass, a, warps, parts);
    case Precision::k3xTf32:
      return start<Precision::k3xTf32>(pass, a, warps, parts);
    case Precision::kTf32:
      return start<Precision::kTf32>(pass, a, warps, parts);
  }
}

}  // namespace tessera::cuda
