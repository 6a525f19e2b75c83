// Convolutions and the gradients of their inputs. A block of four warps makes a tile of pixels
// times `columns` channels; a warp 32 pixels times 16 or 32 channels. Terms are added segment by
// segment, within a segment eight at a time: one order for every result.
//
// The image's tile stays in shared memory while the weights of segment after segment pass through a
// ring of kStages, copied while those before are multiplied. Of eight terms a lane takes 2 t and
// 2 t + 1, which lie side by side in the image; the pitches keep a warp's reads in different banks.
#include <algorithm>

#include "cuda/conv_tile.cuh"
#include "cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32, kStages = 3;
constexpr int kRowsPixels = 512;  // Of a tile by rows.

struct ConvolveArgs {
  ConvTile tile;
  Rows in;
  const float* weights;  // Of node 0: [segments * length][outputs].
  const float* bias;     // Null for a gradient.
  float* out;
  std::size_t dimension;
  int batch;
  int segments, length;  // Of a chunk of channels.
  int weight_rows;       // From segment to segment.
  int outputs;           // Channels of the weights' rows.
  int columns;           // Channels of the result that a block makes: 16, 32 or 64.
  int out_channels;
};

// Forward by taps or by rows of the kernel (ConvShape), or a gradient by taps.
enum class Kind { kTaps, kRows, kGradient };

// Weights of one segment in shared memory: [terms][columns], or turned for a gradient.
template <Kind kKind>
struct Stage {
  static constexpr bool kTurned = kKind == Kind::kGradient;
  static __host__ __device__ int pitch(const ConvolveArgs& a) {
    return kTurned ? a.length + 8 : a.columns + 4;
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

template <int kColumns>
__device__ void store(const ConvolveArgs& a, const TilePlace& place, int first_pixel,
                      int first_column, const WarpSums<2, kColumns>& sums) {
  const Lane lane;
  const int per_image = a.tile.rows * a.tile.out_width;
  for (int i = 0; i < 2; ++i)
    for (int half = 0; half < 2; ++half) {
      const int pixel = first_pixel + 16 * i + 8 * half + lane.g;
      const int image = place.image + pixel / per_image;
      const int y = place.y + pixel % per_image / a.tile.out_width;
      if (pixel >= a.tile.pixels() || image >= a.batch || y >= a.tile.out_height) continue;
      const int x = pixel % a.tile.out_width;
      const std::size_t row =
          (static_cast<std::size_t>(blockIdx.y) * a.batch + image) * a.tile.out_height + y;
      float* const to = a.out + (row * a.tile.out_width + x) * a.out_channels + first_column;
      for (int j = 0; j < kColumns; ++j) {
        const int column = 8 * j + 2 * lane.t;
        float2 pair = {sums.at[i][j][2 * half], sums.at[i][j][2 * half + 1]};
        if (a.bias) {
          const float* const bias = a.bias + blockIdx.y * a.dimension + first_column + column;
          pair.x += bias[0];
          pair.y += bias[1];
        }
        *reinterpret_cast<float2*>(to + column) = pair;
      }
    }
}

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

template <Precision kPrecision, int kColumns, Kind kKind>
__global__ void __launch_bounds__(kThreads, 4) convolve_kernel(const ConvolveArgs a) {
  extern __shared__ float4 shared[];
  float* const image = reinterpret_cast<float*>(shared);
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
  store<kColumns>(a, place, first_pixel, blockIdx.z * a.columns + first_column, sums);
}

// By rows a segment is short and there are few: all weights are loaded at once, and a block goes
// over a larger tile, a warp's 32 pixels after the other.
template <Precision kPrecision, int kColumns>
__global__ void __launch_bounds__(kThreads, 4) convolve_rows_kernel(const ConvolveArgs a) {
  extern __shared__ float4 shared[];
  float* const image = reinterpret_cast<float*>(shared);
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
    store<kColumns>(a, place, first, blockIdx.z * a.columns + first_column, sums);
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
  a.dimension = pass.dimension;
  const int warps_across = a.columns == 64 ? 2 : 1;
  const int pixels = kKind == Kind::kRows ? kRowsPixels : 32 * kWarps / warps_across;
  a.tile = make_tile(a.tile, pixels, pass.batch);
  switch (pass.precision) {
    case Precision::kFp32:
      return start<Precision::kFp32, kKind>(pass, a);
    case Precision::k3xTf32:
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
