// The discrete wavelet transform JWINS ranks coefficients in: a pyramid of filter banks with
// half-point symmetric borders (... x1 x0 | x0 x1 ...), the same transform and layout as
// PyWavelets' wavedec, coeffs_to_array and waverec:
//
//   [ cA_L | cD_L | cD_(L-1) | ... | cD_1 ]        coarse to fine
//
// A level turns n values into len = floor((n + F - 1) / 2) coarse and as many fine ones, F being
// the filter's length:
//
//   cA[k] = sum_j lo[j] x[2k + 1 - j],    cD[k] = sum_j hi[j] x[2k + 1 - j],    j = 0 ... F - 1
//
// so there are a few more coefficients than values. Sums run in the order written, with separate
// multiplications and additions: every CPU gives the same bits.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

struct WaveletFilter {
  std::string_view name{};
  std::string_view summary{};
  std::vector<float> lo{}, hi{};            // Decomposition; even length.
  std::vector<float> back_lo{}, back_hi{};  // Reconstruction: the same, reversed.
};

std::span<const WaveletFilter> wavelet_filters();

constexpr int kWaveletLevelsMax = 30;

// What does not change from one round to the next: the filter and the length of every level.
struct WaveletPlan {
  const WaveletFilter* filter = nullptr;
  std::vector<std::size_t>
      lengths{};  // lengths[0] is the vector's, lengths[l] that of cA_l and of cD_l.

  int levels() const { return static_cast<int>(lengths.size()) - 1; }
  std::size_t length() const { return lengths.front(); }
  std::size_t coefficients() const;
};

// Throws std::invalid_argument for an unknown filter, an empty vector or levels outside 1 ...
// kWaveletLevelsMax.
WaveletPlan plan_wavelet(std::string_view filter, int levels, std::size_t length);

void wavelet_forward(const WaveletPlan& plan, std::span<const float> values,
                     std::span<float> coefficients);
void wavelet_inverse(const WaveletPlan& plan, std::span<const float> coefficients,
                     std::span<float> values);

// The formulas above, one element at a time: what the fast versions are held to, bit for bit.
namespace plain {
void wavelet_forward(const WaveletPlan& plan, std::span<const float> values,
                     std::span<float> coefficients);
void wavelet_inverse(const WaveletPlan& plan, std::span<const float> coefficients,
                     std::span<float> values);
}  // namespace plain

}  // namespace tessera
