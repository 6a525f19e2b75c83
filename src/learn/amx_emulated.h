// AMX's instructions in AVX-512, for the tests of CPUs without it (TESSERA_AMX_EMULATED): the same
// bits, without the speed. Included by amx_tile.h alone, between its TESSERA_AMX_BEGIN and _END.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace tessera::amx {

struct alignas(64) EmulatedTile {
  std::uint8_t bytes[16][64];
};
struct EmulatedTiles {
  TileConfig config{};
  bool configured = false;
  EmulatedTile tile[8];
};
inline thread_local EmulatedTiles emulated_tiles;

// Too small for float32's own fractions is zero, coming in and going out; rounding is to the
// nearest.
class EmulatedRounding {
 public:
  HWY_INLINE EmulatedRounding() : before_(_mm_getcsr()) { _mm_setcsr(kAsAmx); }
  HWY_INLINE ~EmulatedRounding() { _mm_setcsr(before_); }
  EmulatedRounding(const EmulatedRounding&) = delete;
  EmulatedRounding& operator=(const EmulatedRounding&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kTinyIsZero = 0x40, kNoTraps = 0x1f80;
  static constexpr unsigned kAsAmx = kFlushToZero | kTinyIsZero | kNoTraps;
  unsigned before_;
};

struct Instructions {
  static HWY_INLINE void configure(const TileConfig& config) {
    emulated_tiles.config = config;
    emulated_tiles.configured = true;
    std::memset(emulated_tiles.tile, 0, sizeof(emulated_tiles.tile));
  }
  static HWY_INLINE void release() { emulated_tiles.configured = false; }

  template <int t>
  static HWY_INLINE void clear() {
    CHECK(emulated_tiles.configured);
    std::memset(&emulated_tiles.tile[t], 0, sizeof(EmulatedTile));
  }
  template <int t>
  static HWY_INLINE void load(const void* from, std::size_t step) {
    clear<t>();
    const TileConfig& config = emulated_tiles.config;
    for (std::size_t row = 0; row < config.rows[t]; ++row)
      std::memcpy(emulated_tiles.tile[t].bytes[row],
                  static_cast<const std::uint8_t*>(from) + row * step, config.bytes_of_row[t]);
  }
  template <int t>
  static HWY_INLINE void store(void* to, std::size_t step) {
    CHECK(emulated_tiles.configured);
    const TileConfig& config = emulated_tiles.config;
    for (std::size_t row = 0; row < config.rows[t]; ++row)
      std::memcpy(static_cast<std::uint8_t*>(to) + row * step, emulated_tiles.tile[t].bytes[row],
                  config.bytes_of_row[t]);
  }

  // sum[m][n] += (even products of row m of a and column n of b) + (odd ones).
  template <int sum, int a, int b>
  static HWY_INLINE void multiply() {
    EmulatedTiles& tiles = emulated_tiles;
    CHECK(tiles.configured);
    CHECK(tiles.config.rows[b] * 4u == tiles.config.bytes_of_row[a]);
    const EmulatedRounding rounding;
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
    for (std::size_t m = 0; m < tiles.config.rows[sum]; ++m) {
      __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
      for (std::size_t k = 0; k < tiles.config.rows[b]; ++k) {
        std::int32_t pair;
        std::memcpy(&pair, tiles.tile[a].bytes[m] + 4 * k, sizeof(pair));
        const __m512i left = _mm512_set1_epi32(pair);
        const __m512i right = _mm512_loadu_si512(tiles.tile[b].bytes[k]);
        even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(left, 16)),
                               _mm512_castsi512_ps(_mm512_slli_epi32(right, 16)), even);
        odd = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(left, upper)),
                              _mm512_castsi512_ps(_mm512_and_si512(right, upper)), odd);
      }
      void* const row = tiles.tile[sum].bytes[m];
      _mm512_storeu_ps(row, _mm512_add_ps(_mm512_loadu_ps(row), _mm512_add_ps(even, odd)));
    }
  }
};

}  // namespace tessera::amx
