// A block of a convolution reads an image's rows, padded with zeros, into shared memory once and
// takes all taps from there. A tile is some rows of one image, or some whole images.
#pragma once

#include "cuda/kernels.h"
#include "cuda/multiply.cuh"

namespace tessera::cuda {

struct ConvTile {
  // The image that is read, channels `chunk` at a time. For a gradient of inputs it is d_out, whose
  // pixels lie `spread` apart.
  int height = 0, width = 0, channels = 0, chunk = 0, spread = 1;
  int out_height = 0, out_width = 0;
  int kernel = 0, stride = 1;
  int images = 1, rows = 1;  // Of the result, in one tile.
  int tiles = 1;             // Per image, or per `images` images.
  int pitch = 0;             // Floats from pixel to pixel in shared memory.
  bool by_rows = false;      // ConvShape's.

  __host__ __device__ int in_rows() const { return (rows - 1) * stride + kernel; }
  __host__ __device__ int in_columns() const { return (out_width - 1) * stride + kernel; }
  __host__ __device__ int pixels() const { return images * rows * out_width; }
  // Of shared memory. By rows, the last segment reads up to seven floats past the end.
  __host__ __device__ int floats() const {
    return (images * in_rows() * in_columns() * pitch + 8 + 3) / 4 * 4;
  }
  // Where a segment's terms begin, from the first tap of a pixel on.
  __device__ int segment_offset(int segment) const {
    const int row = by_rows ? segment : segment / kernel;
    const int column = by_rows ? 0 : segment % kernel;
    return (row * in_columns() + column) * pitch;
  }
  // Where the first tap of the tile's pixel lies; pixels past the end stand for the first.
  __device__ int pixel_offset(int pixel) const {
    if (pixel >= pixels()) return 0;
    const int image = pixel / (rows * out_width), inside = pixel % (rows * out_width);
    const int y = inside / out_width * stride, x = inside % out_width * stride;
    return ((image * in_rows() + y) * in_columns() + x) * pitch;
  }
};

// Of shared memory; it leaves enough for what else a block has there.
constexpr int kTileFloatsMax = 48 * 1024;

// Splits the work so that a tile has at most `pixels_max` pixels, and rows are dealt evenly. Of
// tiny images the zeros around them take most of a tile.
inline ConvTile make_tile(ConvTile tile, int pixels_max, int batch) {
  const int all = tile.out_height * tile.out_width;
  if (all <= pixels_max) {
    tile.rows = tile.out_height;
    tile.images = pixels_max / all < batch ? pixels_max / all : batch;
    while (tile.images > 1 && tile.floats() > kTileFloatsMax) tile.images /= 2;
    return tile;
  }
  const int most = pixels_max / tile.out_width > 0 ? pixels_max / tile.out_width : 1;
  tile.tiles = (tile.out_height + most - 1) / most;
  tile.rows = (tile.out_height + tile.tiles - 1) / tile.tiles;
  return tile;
}
__host__ __device__ inline int tiles_of(const ConvTile& tile, int batch) {
  return (batch + tile.images - 1) / tile.images * tile.tiles;
}

struct TilePlace {
  int image, y;  // The first image, and its first row of the result.
  __device__ TilePlace(const ConvTile& tile, int number)
      : image(number / tile.tiles * tile.images), y(number % tile.tiles * tile.rows) {}
};

// One row of an image, or zeros where it is not `there`.
__device__ inline void load_tile_row(const ConvTile& tile, const float* from, bool there,
                                     int first_channel, float* to) {
  const int lane = threadIdx.x % 32, pad = tile.kernel / 2;
  if (tile.by_rows) {
    const int floats = tile.in_columns() * tile.pitch;
    for (int i = lane; i < floats; i += 32) {
      const int at = i - pad * tile.pitch;
      const bool inside = there && at >= 0 && at < tile.width * tile.channels;
      copy4(to + i, inside ? from + at : from, inside);
    }
    return;
  }
  const int shift = tile.chunk == 32   ? 3
                    : tile.chunk == 16 ? 2
                                       : 0,
            quads = tile.in_columns() << shift;
  for (int i = lane; i < quads; i += 32) {
    const int column = i >> shift, quad = i & ((1 << shift) - 1), x = column - pad;
    const bool inside = there && x >= 0 && x < tile.width * tile.spread &&
                        (tile.spread == 1 || x % tile.spread == 0);
    const int at = tile.spread == 1 ? x : x / tile.spread;
    copy16(to + column * tile.pitch + 4 * quad,
           inside ? from + at * tile.channels + first_channel + 4 * quad : from, inside);
  }
}

// Begins to copy the tile, its channels from `first_channel` on; a row to a warp.
__device__ inline void load_tile(const ConvTile& tile, const Rows& in, int node, int batch,
                                 const TilePlace& place, int first_channel, float* to) {
  const int pad = tile.kernel / 2, warps = blockDim.x / 32;
  for (int row = threadIdx.x / 32; row < tile.images * tile.in_rows(); row += warps) {
    const int image = place.image + row / tile.in_rows();
    const int y = place.y * tile.stride + row % tile.in_rows() - pad;
    const bool there = image < batch && y >= 0 && y < tile.height * tile.spread &&
                       (tile.spread == 1 || y % tile.spread == 0);
    const float* const from =
        there ? in.row(node, batch, image) + y / tile.spread * tile.width * tile.channels : in.data;
    load_tile_row(tile, from, there, first_channel, to + row * tile.in_columns() * tile.pitch);
  }
  // What the last segment of a row reads past the end counts nothing, but must be a number.
  if (threadIdx.x < 8 && tile.by_rows)
    to[tile.images * tile.in_rows() * tile.in_columns() * tile.pitch + threadIdx.x] = 0;
}

}  // namespace tessera::cuda
