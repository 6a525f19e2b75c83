// What lanes of a warp do together: exchange, blocks of halves, and products of tiles.
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cuda/emulated/block.h"
#include "cuda/instructions.cuh"

namespace tessera::cuda {
namespace {

using emulated::together;

constexpr unsigned kAll = ~0u;

// The tensor cores' sums, as they are found to be made (Khattak and Mikaitis, "Accurate models of
// NVIDIA tensor cores", 2025, in outline): products are exact; they and the sum before are cut off
// two bits below what a float of the largest one's size has, added up exactly, and cut off again to
// a float.
constexpr int kBitsBelowLargest = 25;

// The sum's cut-off parts, in units of the largest one's last bit.
float cut_off(int parts, int exponent) {
  constexpr std::uint64_t kBeyondFloat = (std::uint64_t{1} << 29) - 1;
  const double unit =
      std::bit_cast<double>(std::int64_t{exponent - kBitsBelowLargest + 1023} << 52);
  const double sum = parts * unit;
  return static_cast<float>(
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) & ~kBeyondFloat));
}

template <int kTerms>
void add_row(const float (&a)[kTerms], const float (&b)[kTerms][8], float (&sums)[8]) {
  float terms[kTerms + 1][8], largest[8], plain[8], up[8];
  int exponents[8], parts[8] = {};
  for (int j = 0; j < 8; ++j) {
    terms[kTerms][j] = plain[j] = sums[j];
    largest[j] = std::max(std::abs(sums[j]), 0x1p-100f);
  }
  for (int k = 0; k < kTerms; ++k)
    for (int j = 0; j < 8; ++j) {
      terms[k][j] = a[k] * b[k][j];
      plain[j] += terms[k][j];
      largest[j] = std::max(largest[j], std::abs(terms[k][j]));
    }
  bool finite = true;
  for (int j = 0; j < 8; ++j) finite = finite && plain[j] - plain[j] == 0;
  if (!finite) {
    std::copy_n(plain, 8, sums);
    return;
  }
  for (int j = 0; j < 8; ++j) {
    exponents[j] = (std::bit_cast<int>(largest[j]) >> 23) - 127;
    up[j] = std::bit_cast<float>((kBitsBelowLargest - exponents[j] + 127) << 23);
  }
  for (const auto& term : terms)
    for (int j = 0; j < 8; ++j) parts[j] += static_cast<int>(term[j] * up[j]);
  for (int j = 0; j < 8; ++j) sums[j] = cut_off(parts[j], exponents[j]);
}

// One lane's part of a product. A register has kInRegister terms of one row or column.
struct Product {
  float* sums;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

template <int kInRegister>
float term_of(std::uint32_t bits, int which) {
  if constexpr (kInRegister == 1) return std::bit_cast<float>(bits & 0xffffe000u);
  half x;
  x.bits = static_cast<std::uint16_t>(bits >> 16 * which);
  return __half2float(x);
}

template <int kInRegister>
void multiply_tiles(void* const (&own)[32]) {
  constexpr int kTerms = 8 * kInRegister;
  float a[16][kTerms], b[kTerms][8], sums[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& part = *static_cast<const Product*>(own[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int n = 0; n < 4; ++n)
      for (int which = 0; which < kInRegister; ++which)
        a[g + n % 2 * 8][kInRegister * (t + n / 2 * 4) + which] =
            term_of<kInRegister>(part.a[n], which);
    for (int n = 0; n < 2; ++n)
      for (int which = 0; which < kInRegister; ++which)
        b[kInRegister * (t + 4 * n) + which][g] = term_of<kInRegister>(part.b[n], which);
    for (int n = 0; n < 4; ++n) sums[g + n / 2 * 8][2 * t + n % 2] = part.sums[n];
  }
  for (int i = 0; i < 16; ++i) add_row<kTerms>(a[i], b, sums[i]);
  for (int lane = 0; lane < 32; ++lane)
    for (int n = 0; n < 4; ++n)
      static_cast<Product*>(own[lane])->sums[n] =
          sums[lane / 4 + n / 2 * 8][2 * (lane % 4) + n % 2];
}

struct Blocks {
  std::uint32_t address;
  std::uint32_t* to;
};

template <bool kTurned>
void load_all(void* const (&own)[32]) {
  std::uint16_t rows[32][8];
  for (int lane = 0; lane < 32; ++lane)
    std::memcpy(rows[lane],
                emulated::shared_bytes(static_cast<const Blocks*>(own[lane])->address, 16), 16);
  for (int lane = 0; lane < 32; ++lane)
    for (int block = 0; block < 4; ++block) {
      const auto& of_block = *reinterpret_cast<const std::uint16_t(*)[8][8]>(rows[8 * block]);
      const int g = lane / 4, pair = 2 * (lane % 4);
      const std::uint32_t low = kTurned ? of_block[pair][g] : of_block[g][pair];
      const std::uint32_t high = kTurned ? of_block[pair + 1][g] : of_block[g][pair + 1];
      static_cast<Blocks*>(own[lane])->to[block] = low | high << 16;
    }
}

struct Exchange {
  unsigned value;
  int lanes;
  unsigned got;
};

void exchange(void* const (&own)[32]) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!own[lane]) continue;
    auto& self = *static_cast<Exchange*>(own[lane]);
    const void* const other = own[lane ^ static_cast<unsigned>(self.lanes)];
    self.got = other ? static_cast<const Exchange*>(other)->value : self.value;
  }
}
void take_largest(void* const (&own)[32]) {
  unsigned largest = 0;
  for (const void* const each : own)
    if (each) largest = std::max(largest, static_cast<const Exchange*>(each)->value);
  for (void* const each : own)
    if (each) static_cast<Exchange*>(each)->got = largest;
}

}  // namespace

void mma(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  Product own{sums, a, {b[0], b[1]}};
  together(kAll, multiply_tiles<1>, &own);
}
void mma_halves(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  Product own{sums, a, {b0, b1}};
  together(kAll, multiply_tiles<2>, &own);
}

void load_blocks(std::uint32_t address, std::uint32_t (&to)[4]) {
  Blocks own{address, to};
  together(kAll, load_all<false>, &own);
}
void load_turned_blocks(std::uint32_t address, std::uint32_t (&to)[4]) {
  Blocks own{address, to};
  together(kAll, load_all<true>, &own);
}

}  // namespace tessera::cuda

void __syncwarp(unsigned mask) {
  int nothing = 0;
  tessera::cuda::together(
      mask, [](void* const(&)[32]) {}, &nothing);
}
unsigned __shfl_xor_sync(unsigned mask, unsigned own, int lanes) {
  tessera::cuda::Exchange all{own, lanes, 0};
  tessera::cuda::together(mask, tessera::cuda::exchange, &all);
  return all.got;
}
unsigned __reduce_max_sync(unsigned mask, unsigned own) {
  tessera::cuda::Exchange all{own, 0, 0};
  tessera::cuda::together(mask, tessera::cuda::take_largest, &all);
  return all.got;
}
