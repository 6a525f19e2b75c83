// The block of sums that the kernels for AMX share: one or two tiles of 16 rows by one or two of 16
// columns. Only for files compiled for AMX between TESSERA_AMX_BEGIN and TESSERA_AMX_END, as this
// one is.
#pragma once

#include "learn/bf16_tile.h"

#if TESSERA_HAS_BF16
#include <algorithm>
#include <array>
#include <cstdint>

#define TESSERA_AMX_BEGIN \
  HWY_PUSH_ATTRIBUTES(    \
      "avx2,fma,bmi,bmi2,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,amx-tile,amx-bf16")
#define TESSERA_AMX_END HWY_POP_ATTRIBUTES

TESSERA_AMX_BEGIN
namespace tessera::amx {

using bf16::Int;

constexpr std::size_t kSide = 16;
constexpr std::size_t kDepth = 32;  // Factors of one instruction; 16 where there are fewer.

// As the instruction reads it.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> bytes_of_row{};
  std::array<std::uint8_t, 16> rows{};
};

// Sums are tiles 0 to 3; 4 and 5 are rows of a, 6 and 7 are columns of b.
constexpr TileConfig config_for(std::size_t depth) {
  TileConfig config;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    const bool is_a = tile == 4 || tile == 5, is_b = tile >= 6;
    config.bytes_of_row[tile] = static_cast<std::uint16_t>(is_a ? 2 * depth : 4 * kSide);
    config.rows[tile] = static_cast<std::uint8_t>(is_b ? depth / 2 : kSide);
  }
  return config;
}
inline constexpr TileConfig kShallow = config_for(kDepth / 2), kDeep = config_for(kDepth);

}  // namespace tessera::amx

#if TESSERA_AMX_EMULATED
#include "learn/amx_emulated.h"
#else
namespace tessera::amx {

// Tiles by their numbers; steps are bytes from row to row. What was written to memory before is
// there for a load, and nothing moves past them.
struct Instructions {
  static HWY_INLINE void configure(const TileConfig& config) {
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  static HWY_INLINE void release() { asm volatile("tilerelease" : : : "memory"); }
  template <int t>
  static HWY_INLINE void clear() {
    asm volatile("tilezero %%tmm%c0" : : "i"(t));
  }
  template <int t>
  static HWY_INLINE void load(const void* from, std::size_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(step), "i"(t) : "memory");
  }
  template <int t>
  static HWY_INLINE void store(void* to, std::size_t step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(step), "i"(t) : "memory");
  }
  template <int sum, int a, int b>
  static HWY_INLINE void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(a), "i"(b));
  }
};

}  // namespace tessera::amx
#endif

namespace tessera::amx {

// The thread's tiles, as long as this lives.
class Tiles {
 public:
  HWY_INLINE explicit Tiles(std::size_t depth) {
    Instructions::configure(depth == kDepth ? kDeep : kShallow);
  }
  HWY_INLINE ~Tiles() { Instructions::release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// All of a thread's tiles are one block at a time, so it has no memory of its own.
template <std::size_t rows, std::size_t columns>
struct Block {
  using Do = Instructions;

  // Every row of sums begins with these; null: with zeros.
  static HWY_INLINE void begin(const float* values) {
    if (values) {
      Do::load<0>(values, 0);
      if constexpr (columns == 2) Do::load<1>(values + kSide, 0);
      if constexpr (rows == 2) Do::load<2>(values, 0);
      if constexpr (rows == 2 && columns == 2) Do::load<3>(values + kSide, 0);
    } else {
      Do::clear<0>();
      if constexpr (columns == 2) Do::clear<1>();
      if constexpr (rows == 2) Do::clear<2>();
      if constexpr (rows == 2 && columns == 2) Do::clear<3>();
    }
  }
  // Adds a tile's depth of products. Steps are numbers from row to row of a, and from pair to pair
  // of rows of b.
  static HWY_INLINE void add(const Bf16* a, std::size_t a_step, const Bf16* b, std::size_t b_step) {
    Do::load<4>(a, 2 * a_step);
    if constexpr (rows == 2) Do::load<5>(a + kSide * a_step, 2 * a_step);
    Do::load<6>(b, 2 * b_step);
    if constexpr (columns == 2) Do::load<7>(b + 2 * kSide, 2 * b_step);
    Do::multiply<0, 4, 6>();
    if constexpr (rows == 2) Do::multiply<2, 5, 6>();
    if constexpr (columns == 2) Do::multiply<1, 4, 7>();
    if constexpr (rows == 2 && columns == 2) Do::multiply<3, 5, 7>();
  }
  // The first `count` rows.
  static HWY_INLINE void store(float* to, std::size_t step, std::size_t count) {
    if (count == rows * kSide) return store_all(to, step);
    alignas(64) float all[rows * kSide * columns * kSide];
    store_all(all, columns * kSide);
    for (std::size_t row = 0; row < count; ++row)
      std::copy_n(all + row * columns * kSide, columns * kSide, to + row * step);
  }

 private:
  static HWY_INLINE void store_all(float* to, std::size_t step) {
    Do::store<0>(to, 4 * step);
    if constexpr (columns == 2) Do::store<1>(to + kSide, 4 * step);
    if constexpr (rows == 2) Do::store<2>(to + kSide * step, 4 * step);
    if constexpr (rows == 2 && columns == 2) Do::store<3>(to + kSide * step + kSide, 4 * step);
  }
};

// Calls body(first row, first column, Int<tiles of rows>, Int<tiles of columns>). The last tile may
// have rows that do not count; there are sixteens of columns.
template <typename Body>
HWY_INLINE void for_blocks(std::size_t rows, std::size_t columns, Body body) {
  for (std::size_t row = 0; row < rows; row += 2 * kSide)
    for (std::size_t column = 0; column < columns; column += 2 * kSide) {
      const bool tall = rows - row > kSide, wide = columns - column > kSide;
      if (tall && wide) body(row, column, Int<2>(), Int<2>());
      if (tall && !wide) body(row, column, Int<2>(), Int<1>());
      if (!tall && wide) body(row, column, Int<1>(), Int<2>());
      if (!tall && !wide) body(row, column, Int<1>(), Int<1>());
    }
}

}  // namespace tessera::amx
TESSERA_AMX_END
#endif  // TESSERA_HAS_BF16
