// Products of every node's own matrices. A block makes 128 x 64 sums, a warp 32 x 32 of them; 32
// terms at a time travel to shared memory, two groups ahead of the one that is worked on.
#include "cuda/launch.cuh"
#include "cuda/multiply.cuh"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256, kRows = 128, kColumns = 64, kTerms = 32, kStages = 3;
// Floats that keep the lanes of a warp in different banks: lane (g, t) reads row g, term t.
constexpr int kBeside = kTerms + 4;

// One factor's piece in shared memory, kWide rows or columns of it: [kWide][kBeside], or turned
// [kTerms][kWide + 8].
template <int kWide, bool kTurned>
struct Piece {
  static constexpr int kPitch = kTurned ? kWide + 8 : kBeside;
  static constexpr int kFloats = kTurned ? kTerms * kPitch : kWide * kPitch;

  __device__ static float at(const float* piece, int other, int term) {
    return kTurned ? piece[term * kPitch + other] : piece[other * kPitch + term];
  }
  // Begins to copy; what lies outside of the matrix becomes zeros.
  __device__ static void load(const Factor& factor, int node, int first, int end, int first_term,
                              int terms, float* to) {
    const float* const own = factor.data + node * factor.node_stride;
    constexpr int kQuads = (kTurned ? kWide : kTerms) / 4;
    constexpr int kLines = kTurned ? kTerms : kWide;
    for (int i = threadIdx.x; i < kLines * kQuads; i += kThreads) {
      const int line = i / kQuads, quad = i % kQuads;
      int row = line + (kTurned ? first_term : first);
      const int column = 4 * quad + (kTurned ? first : first_term);
      bool there = kTurned ? row < terms && column < end : row < end && column < terms;
      if (kTurned && factor.period > 0) {
        there = there && row % factor.period != 0;
        --row;
      }
      copy16(to + line * kPitch + 4 * quad,
             there ? own + static_cast<std::size_t>(row) * factor.pitch + column : own, there);
    }
  }
};

// The first row and column of the block's sums, and of the warp's within them.
struct ProductPlace {
  int row, column, warp_row, warp_column;
  __device__ explicit ProductPlace(const Product& product) {
    const int across = (product.columns + kColumns - 1) / kColumns;
    row = static_cast<int>(blockIdx.x) / across * kRows;
    column = static_cast<int>(blockIdx.x) % across * kColumns;
    warp_row = static_cast<int>(threadIdx.x) / 32 % 4 * 32;
    warp_column = static_cast<int>(threadIdx.x) / 32 / 4 * 32;
  }
};

using Sums = WarpSums<2, 4>;

template <Precision kPrecision, typename PieceA, typename PieceB>
__device__ void add_piece(const float* a, const float* b, const ProductPlace& place, Sums& sums) {
  const Lane lane;
  Sums some;  // Of these terms alone.
#pragma unroll
  for (int first = 0; first < kTerms; first += 8) {
    if constexpr (kPrecision == Precision::kFp32) {
      add_plain(
          sums,
          [&](int i, int half, int term) {
            return PieceA::at(a, place.warp_row + 16 * i + lane.g + 8 * half, first + term);
          },
          [&](int term, int column) {
            return PieceB::at(b, place.warp_column + column, first + term);
          });
    } else {
      add_tensor<kPrecision>(
          some,
          [&](int i, float(&to)[4]) {
#pragma unroll
            for (int n = 0; n < 4; ++n)
              to[n] = PieceA::at(a, place.warp_row + 16 * i + lane.g + n % 2 * 8,
                                 first + lane.t + n / 2 * 4);
          },
          [&](int j, float(&to)[2]) {
#pragma unroll
            for (int n = 0; n < 2; ++n)
              to[n] = PieceB::at(b, place.warp_column + 8 * j + lane.g, first + lane.t + n * 4);
          });
    }
  }
  if constexpr (kPrecision != Precision::kFp32) add_to(sums, some);
}

__device__ void store(const Product& product, const ProductPlace& place, const Sums& sums) {
  const Lane lane;
  float* const out =
      product.out + static_cast<std::size_t>(blockIdx.y) * product.rows * product.columns;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int column = place.column + place.warp_column + 8 * j + 2 * lane.t;
    if (column >= product.columns) continue;
    float2 bias = {0, 0};
    for (const float* const biases : product.biases) {
      if (!biases) continue;
      const float* const at = biases + blockIdx.y * product.bias_stride + column;
      bias.x += at[0];
      bias.y += at[1];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = place.row + place.warp_row + 16 * i + 8 * half + lane.g;
        if (row >= product.rows) continue;
        *reinterpret_cast<float2*>(out + static_cast<std::size_t>(row) * product.columns +
                                   column) = {sums.at[i][j][2 * half] + bias.x,
                                              sums.at[i][j][2 * half + 1] + bias.y};
      }
  }
}

template <Precision kPrecision, bool kTurnedA, bool kTurnedB>
__global__ void __launch_bounds__(kThreads, 2) product_kernel(Product product) {
  using PieceA = Piece<kRows, kTurnedA>;
  using PieceB = Piece<kColumns, kTurnedB>;
  constexpr int kFloats = PieceA::kFloats + PieceB::kFloats;
  float* const pieces = shared_memory();  // [kStages][a and b]
  const ProductPlace place(product);
  const int node = blockIdx.y, groups = (product.terms + kTerms - 1) / kTerms;
  const auto load = [&](int group) {
    float* const to = pieces + group % kStages * kFloats;
    if (group < groups) {
      PieceA::load(product.a, node, place.row, product.rows, group * kTerms, product.terms, to);
      PieceB::load(product.b, node, place.column, product.columns, group * kTerms, product.terms,
                   to + PieceA::kFloats);
    }
    end_group();  // An empty one at the end keeps the count.
  };
  Sums sums;
  for (int group = 0; group < kStages - 1; ++group) load(group);
  for (int group = 0; group < groups; ++group) {
    wait_for_all_but<kStages - 2>();
    __syncthreads();
    // Into the piece that was worked on last, which all have left.
    load(group + kStages - 1);
    const float* const piece = pieces + group % kStages * kFloats;
    if (place.column + place.warp_column < product.columns)
      add_piece<kPrecision, PieceA, PieceB>(piece, piece + PieceA::kFloats, place, sums);
  }
  store(product, place, sums);
}

template <Precision kPrecision, bool kTurnedA, bool kTurnedB>
void start(const Pass& pass, const Product& product) {
  constexpr std::size_t kBytes =
      sizeof(float) * kStages *
      (Piece<kRows, kTurnedA>::kFloats + Piece<kColumns, kTurnedB>::kFloats);
  const dim3 grid(blocks_for(product.rows, kRows) * blocks_for(product.columns, kColumns),
                  pass.nodes);
  launch(product_kernel<kPrecision, kTurnedA, kTurnedB>, grid, kThreads, kBytes, pass.stream,
         product);
}

template <Precision kPrecision>
void start(const Pass& pass, const Product& product) {
  if (product.a.turned) return start<kPrecision, true, true>(pass, product);
  if (product.b.turned) return start<kPrecision, false, true>(pass, product);
  start<kPrecision, false, false>(pass, product);
}

}  // namespace

void multiply(const Pass& pass, const Product& product) {
  switch (pass.precision) {
    case Precision::kFp32:
      return start<Precision::kFp32>(pass, product);
    case Precision::k3xTf32:
    case Precision::k3xF16:
      return start<Precision::k3xTf32>(pass, product);
    case Precision::kTf32:
      return start<Precision::kTf32>(pass, product);
  }
}

}  // namespace tessera::cuda
