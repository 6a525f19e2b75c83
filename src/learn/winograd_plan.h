// How winograd.cc and winograd_first.cc cut up their work, and the matrix products between the
// transforms in bf16.
#pragma once

#include <algorithm>
#include <cstddef>

#include "learn/winograd.h"

namespace tessera {

constexpr std::size_t kPoints = 8, kKernel = 5, kOut = kPoints - kKernel + 1;

// At each point: what the channels `from` of every row of a block give in the channels `to`. Steps
// are from point to point.
struct BlockProduct {
  std::size_t rows = 0, from = 0, to = 0;
  const float* a = nullptr;
  std::size_t a_step = 0;
  float* c = nullptr;
  std::size_t c_step = 0;
};

// How the work is cut up. A block is a few tiles of all samples: small enough that its numbers at
// the points stay in the second cache, large enough that the weights are worth loading for it.
struct WinogradPlan {
  std::size_t across, tiles;             // Tiles of a line, of the image.
  std::size_t block_tiles, block_count;  // Tiles of a block.
  std::size_t in, out;                   // Numbers of a tile's pixel: batch x channels.
  // Numbers from point to point, in blocks and in the weights. A line of the cache more than they
  // take: powers of two would fall onto one another in the cache.
  std::size_t in_step, out_step, weights_step;

  explicit WinogradPlan(const ConvShape& s)
      : across((s.width + kOut - 1) / kOut),
        tiles(across * ((s.height + kOut - 1) / kOut)),
        block_tiles(std::max<std::size_t>(1, 16 / s.batch)),
        block_count((tiles + block_tiles - 1) / block_tiles),
        in(s.batch * s.inputs),
        out(s.batch * s.outputs),
        in_step(block_tiles * in + 16),
        out_step(block_tiles * out + 16),
        weights_step(s.inputs * s.outputs + 16) {}

  // Where a block begins among the numbers at the points.
  std::size_t in_block() const { return kPoints * kPoints * in_step + 16 * 33; }
  std::size_t out_block() const { return kPoints * kPoints * out_step + 16 * 33; }
  std::size_t tiles_of(std::size_t block) const {
    return std::min(block_tiles, tiles - block * block_tiles);
  }
  // As weights_step, of the weights in bf16.
  std::size_t paired_step() const { return weights_step + 16; }
  // Pairs of rows of a block, an odd last row being one, and from point to point of `channels`.
  std::size_t block_pairs(std::size_t block, std::size_t batch) const {
    return (tiles_of(block) * batch + 1) / 2;
  }
  std::size_t pairs_step(std::size_t channels, std::size_t batch) const {
    return block_count * block_pairs(0, batch) * 2 * channels + 32;
  }
};

// The same for a first layer (winograd_first.h), which goes tile by tile.
struct WinogradFirstPlan {
  std::size_t across, tiles;
  // Numbers from point to point. Vectors of inputs may be longer than the batch has numbers.
  std::size_t in_step, weights_step;

  explicit WinogradFirstPlan(const ConvShape& s)
      : across((s.width + kOut - 1) / kOut),
        tiles(across * ((s.height + kOut - 1) / kOut)),
        in_step((s.batch * s.inputs + 15) / 16 * 16),
        weights_step(s.inputs * s.outputs + 16) {}

  // From tile to tile, and a line of the cache more: as above.
  std::size_t tile_step() const { return kPoints * kPoints * in_step + 16; }
};

// The products with factors in bf16. A block's numbers at the points are kept for the weights'
// gradient in pairs of rows alone, in `kept`; weights come from space.weights, and their gradient
// goes there.
void pair_weights(const WinogradPlan& plan, std::size_t from, std::size_t to, WinogradSpace& space);
void keep_block_bf16(const ConvShape& shape, const WinogradPlan& plan, std::size_t block,
                     const BlockProduct& product, Bf16s64& kept);
void multiply_block_bf16(const WinogradPlan& plan, const BlockProduct& product,
                         WinogradSpace& space);
void multiply_weights_bf16(const ConvShape& shape, const WinogradPlan& plan, WinogradSpace& space);

}  // namespace tessera
