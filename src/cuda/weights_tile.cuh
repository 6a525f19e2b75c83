// What gradients of a convolution's weights share: their arguments, d_out's tile, and how the work
// is dealt.
#pragma once

#include <algorithm>

#include "cuda/conv_tile.cuh"

namespace tessera::cuda {

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
  // What sums are multiplied with: of a node's first image here and there (null: nothing), of all.
  const float* of_in = nullptr;
  const float* of_d_out = nullptr;
  float of_all = 1;

  __device__ float factor() const {
    return of_in ? of_in[blockIdx.y * batch] * of_d_out[blockIdx.y * batch] : of_all;
  }
};

// Pixels are taken `together` at a time.
__host__ __device__ inline int padded_pixels(const ConvTile& tile, int together) {
  return (tile.pixels() + together - 1) / together * together;
}

// Where a tile of d_out lies. Its pixels lie side by side, whole images too; those `there` are of
// the image and of the batch.
struct DOutTile {
  const float* from;
  int there, outputs;
  __device__ DOutTile(const WeightsArgs& a, const TilePlace& place, int first_column)
      : outputs(a.outputs) {
    const int rows = a.tile.images > 1
                         ? min(a.tile.images, a.batch - place.image) * a.tile.out_height
                         : min(a.tile.rows, a.tile.out_height - place.y);
    const std::size_t first =
        ((static_cast<std::size_t>(blockIdx.y) * a.batch + place.image) * a.tile.out_height +
         place.y) *
        a.tile.out_width;
    from = a.d_out + first * outputs + first_column;
    there = rows * a.tile.out_width;
  }
  __device__ const float* at(int pixel, int quad) const {
    return from + static_cast<std::size_t>(pixel) * outputs + 4 * quad;
  }
  __device__ float4 quad(int pixel, int quad) const {
    return *reinterpret_cast<const float4*>(at(pixel, quad));
  }
};

// d_out's tile, [pixels][columns] with a pitch of columns + kPad: zeros where the batch or the
// image has ended, and up to a multiple of kTogether.
template <int kColumns, int kPad, int kTogether>
__device__ void load_d_out(const WeightsArgs& a, const TilePlace& place, int first_column,
                           float* to) {
  constexpr int kQuads = 2 * kColumns, kPitch = 8 * kColumns + kPad;
  const DOutTile tile(a, place, first_column);
  for (int i = threadIdx.x; i < padded_pixels(a.tile, kTogether) * kQuads; i += blockDim.x) {
    const int pixel = i / kQuads, quad = i % kQuads;
    const bool there = pixel < tile.there;
    copy16(to + pixel * kPitch + 4 * quad, there ? tile.at(pixel, quad) : a.d_out, there);
  }
}

// Rows that fill up a segment are no weights: their gradient is zero, so that they stay zero.
template <int kColumns>
__device__ void store_weights(const WeightsArgs& a, int chunk, int first_row, int first_column,
                              const WarpSums<2, kColumns>& sums) {
  const Lane lane;
  float* const to = a.d_weights + (static_cast<std::size_t>(blockIdx.y) * gridDim.z + blockIdx.z) *
                                      a.rows * a.outputs;
  const float factor = a.factor();
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
            weight ? float2{pair[0] * factor, pair[1] * factor} : float2{0, 0};
      }
    }
}

// A part has at least this many pixels: enough to be worth a block, and as many parts as it takes
// to keep a large GPU busy. It must not depend on how many nodes there are, nor then do the sums. A
// large batch is dealt to sixteen.
constexpr int kPartPixels = 512, kPartsMax = 16;

// A tile of few channels is small.
inline int pixels_in_tile(const ConvShape& shape) {
  return shape.by_rows() ? 256 : 128;
}

inline int images_in_part(const ConvShape& shape, int batch) {
  const int pixels = shape.out_height() * shape.out_width();
  const int part =
      std::max((kPartPixels + pixels - 1) / pixels, (batch + kPartsMax - 1) / kPartsMax);
  const int in_tile = std::max(1, pixels_in_tile(shape) / pixels);
  return (part + in_tile - 1) / in_tile * in_tile;
}

// Fills in what follows from the shape. Returns how many warps a block has, at most `warps_max`.
inline int fill_args(const Pass& pass, const ConvShape& shape, int chunk, int pitch, int warps_max,
                     WeightsArgs& a) {
  a.batch = pass.batch;
  a.part = images_in_part(shape, pass.batch);
  a.rows = shape.rows();
  a.outputs = shape.outputs;
  a.segments = shape.segments();
  a.length = shape.by_rows() ? shape.length() : chunk;
  a.weight_rows = shape.length();
  a.chunks = shape.inputs / chunk;
  a.taps_by_row = shape.by_rows() ? shape.kernel * shape.inputs : a.length;
  a.tile = make_tile({.height = shape.height,
                      .width = shape.width,
                      .channels = shape.inputs,
                      .chunk = chunk,
                      .out_height = shape.out_height(),
                      .out_width = shape.out_width(),
                      .kernel = shape.kernel,
                      .stride = shape.stride,
                      .pitch = pitch,
                      .by_rows = shape.by_rows()},
                     pixels_in_tile(shape), pass.batch);
  const int warp_tiles = (a.segments * a.length + 31) / 32;
  a.row_groups = (warp_tiles + warps_max - 1) / warps_max;
  return (warp_tiles + a.row_groups - 1) / a.row_groups;
}

}  // namespace tessera::cuda
