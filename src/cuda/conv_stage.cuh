// What convolutions by taps share: their arguments, and the weights of segment after segment, which
// pass through a ring of kStages in shared memory, copied while those before are multiplied.
#pragma once

#include "cuda/conv_tile.cuh"

namespace tessera::cuda {

constexpr int kThreads = 128, kWarps = kThreads / 32, kStages = 3;
constexpr int kRowsPixels = 512;  // Of a tile by rows.

struct ConvolveArgs {
  ConvTile tile;
  Rows in;
  const float* weights;  // Of node 0: [segments * length][outputs].
  const float* bias;     // Null for a gradient.
  float* out;
  std::size_t dimension, bias_stride;  // From node to node, of weights and biases.
  int batch;
  int segments, length;  // Of a chunk of channels.
  int weight_rows;       // From segment to segment.
  int outputs;           // Channels of the weights' rows.
  int columns;           // Channels of the result that a block makes: 16, 32 or 64.
  int out_channels;
  int turned_pad = 8;  // Floats after the row of a gradient's weights in shared memory.
  // What sums are multiplied with, of every image and of every node (null: nothing), and of all.
  const float* of_image = nullptr;
  const float* of_node = nullptr;
  float of_all = 1;
};

// Forward by taps or by rows of the kernel (ConvShape), or a gradient by taps.
enum class Kind { kTaps, kRows, kGradient };

// Weights of one segment in shared memory: [terms][columns], or turned for a gradient.
template <Kind kKind>
struct Stage {
  static constexpr bool kTurned = kKind == Kind::kGradient;
  static __host__ __device__ int pitch(const ConvolveArgs& a) {
    return kTurned ? a.length + a.turned_pad : a.columns + 4;
  }
  static __host__ __device__ int floats(const ConvolveArgs& a) {
    return (kTurned ? a.columns : a.length) * pitch(a);
  }

  // What a thread copies: four floats here, and as many some rows below, again and again.
  const float* from;
  int to, rows_below, from_step, to_step, down;

  __device__ Stage(const ConvolveArgs& a) : down(kTurned ? a.columns : a.length) {
    const int across = kTurned ? a.length : a.columns;
    const int shift = across == 64 ? 4 : across == 32 ? 3 : 2;
    const int row = threadIdx.x >> shift, quad = threadIdx.x & ((1 << shift) - 1);
    const int first_row = kTurned ? blockIdx.z * a.columns : 0;
    const int first_column = kTurned ? 0 : blockIdx.z * a.columns;
    from = a.weights + blockIdx.y * a.dimension + (first_row + row) * a.outputs + first_column +
           4 * quad;
    to = row * pitch(a) + 4 * quad;
    rows_below = kThreads >> shift;
    from_step = rows_below * a.outputs;
    to_step = rows_below * pitch(a);
    down -= row;
  }
  // A gradient takes the taps in reverse, and its terms are the weights' columns.
  __device__ void load(const ConvolveArgs& a, int chunk, int segment, float* stage) const {
    const int rows = kTurned ? (a.segments - 1 - segment) * a.weight_rows
                             : segment * a.weight_rows + chunk * a.length;
    const float* source = from + rows * a.outputs + (kTurned ? chunk * a.length : 0);
    float* target = stage + to;
    for (int row = 0; row < down; row += rows_below) {
      copy16(target, source, true);
      source += from_step;
      target += to_step;
    }
  }
};

// Goes over the segments of all chunks: which one, where its taps begin in the tile, and its slot
// in the ring. Division takes longer than what is done with a segment's terms.
struct SegmentWalk {
  int chunk = 0, segment = 0, offset = 0, slot = 0;
  __device__ explicit SegmentWalk(const ConvolveArgs& a)
      : segments_(a.segments),
        kernel_(a.tile.kernel),
        pitch_(a.tile.pitch),
        rest_of_row_((a.tile.in_columns() - a.tile.kernel) * a.tile.pitch) {}
  __device__ void next() {
    slot = slot == kStages - 1 ? 0 : slot + 1;
    offset += pitch_;
    if (++column_ == kernel_) {
      column_ = 0;
      offset += rest_of_row_;
    }
    if (++segment == segments_) {
      segment = offset = column_ = 0;
      ++chunk;
    }
  }

 private:
  int segments_, kernel_, pitch_, rest_of_row_, column_ = 0;
};

// A tile's pixels lie side by side in the result, those of whole images too.
template <int kRows, int kColumns>
__device__ void store(const ConvolveArgs& a, const TilePlace& place, int first_pixel,
                      int first_column, const WarpSums<kRows, kColumns>& sums) {
  const Lane lane;
  const int there = a.tile.images > 1
                        ? min(a.tile.images, a.batch - place.image) * a.tile.out_height
                        : min(a.tile.rows, a.tile.out_height - place.y);
  const std::size_t image = static_cast<std::size_t>(blockIdx.y) * a.batch + place.image;
  float* const tile = a.out +
                      (image * a.tile.out_height + place.y) * a.tile.out_width * a.out_channels +
                      first_column + 2 * lane.t;
  const float of_node = a.of_node ? a.of_node[blockIdx.y] : 1;
  float2 bias[kColumns] = {};
  if (a.bias)
    for (int j = 0; j < kColumns; ++j)
      bias[j] = *reinterpret_cast<const float2*>(a.bias + blockIdx.y * a.bias_stride +
                                                 first_column + 8 * j + 2 * lane.t);
  for (int i = 0; i < kRows; ++i)
    for (int half = 0; half < 2; ++half) {
      const int pixel = first_pixel + 16 * i + 8 * half + lane.g;
      if (pixel >= there * a.tile.out_width) continue;
      const int inside = a.tile.images > 1 ? pixel / (a.tile.rows * a.tile.out_width) : 0;
      const float factor = (a.of_image ? a.of_image[image + inside] : a.of_all) * of_node;
      float* const to = tile + static_cast<std::size_t>(pixel) * a.out_channels;
      for (int j = 0; j < kColumns; ++j)
        *reinterpret_cast<float2*>(to + 8 * j) = {
            fmaf(sums.at[i][j][2 * half], factor, bias[j].x),
            fmaf(sums.at[i][j][2 * half + 1], factor, bias[j].y)};
    }
  __syncwarp();  // Pixels past the end have parted the lanes; the next product is one of them all.
}

}  // namespace tessera::cuda
