#include "math/wavelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/check.h"
#include "base/ids.h"
#include "base/table.h"
#include "math/wavelet_level.h"

namespace tessera {
namespace {

// Orthogonal wavelets follow from their low-pass filter alone: the high-pass is its mirror with
// alternating signs, and reconstruction runs both backwards.
WaveletFilter orthogonal(std::string_view name, std::string_view summary, std::vector<double> lo) {
  WaveletFilter filter{.name = name, .summary = summary};
  filter.lo.assign(lo.begin(), lo.end());
  for (std::size_t j = 0; j < lo.size(); ++j) {
    const double mirrored = lo[lo.size() - 1 - j];
    filter.hi.push_back(static_cast<float>(j % 2 == 0 ? -mirrored : mirrored));
  }
  filter.back_lo.assign(filter.lo.rbegin(), filter.lo.rend());
  filter.back_hi.assign(filter.hi.rbegin(), filter.hi.rend());
  return filter;
}

// The place a border reflects to: ... 1 0 | 0 1 ... n-1 | n-1 n-2 ..., again and again for vectors
// shorter than the filter.
std::size_t reflected(std::ptrdiff_t place, std::size_t n) {
  const auto period = static_cast<std::ptrdiff_t>(2 * n);
  const auto wrapped = static_cast<std::size_t>(((place % period) + period) % period);
  return wrapped < n ? wrapped : 2 * n - 1 - wrapped;
}

struct Outputs {
  float* coarse = nullptr;
  float* fine = nullptr;
};

// Outputs first ... last - 1, any of whose taps may lie outside.
void analyse_border(const WaveletFilter& filter, std::span<const float> x, Outputs out,
                    std::size_t first, std::size_t last) {
  const std::size_t taps = filter.lo.size();
  for (std::size_t k = first; k < last; ++k) {
    float a = 0, b = 0;
    for (std::size_t j = 0; j < taps; ++j) {
      const float value = x[reflected(static_cast<std::ptrdiff_t>(2 * k + 1 - j), x.size())];
      a = j == 0 ? filter.lo[j] * value : a + filter.lo[j] * value;
      b = j == 0 ? filter.hi[j] * value : b + filter.hi[j] * value;
    }
    out.coarse[k] = a;
    out.fine[k] = b;
  }
}

void analyse_level(const WaveletFilter& filter, std::span<const float> x, Outputs out,
                   std::size_t length) {
  // Output k reads x[2k + 2 - F ... 2k + 1].
  const std::size_t inside_last = x.size() / 2;
  const std::size_t inside_first = std::min(filter.lo.size() / 2 - 1, inside_last);
  analyse_border(filter, x, out, 0, inside_first);
  analyse_inside(filter.lo, filter.hi, x.data(), out.coarse, out.fine, inside_first, inside_last);
  analyse_border(filter, x, out, inside_last, length);
}

void plain_analyse(const WaveletFilter& filter, std::span<const float> x, Outputs out,
                   std::size_t length) {
  analyse_border(filter, x, out, 0, length);
}

void plain_synthesise(const WaveletFilter& filter, const float* coarse, const float* fine,
                      std::span<float> y) {
  const std::size_t taps = filter.lo.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    float sum = 0;
    for (std::size_t p = 0; p < taps / 2; ++p) {
      const std::size_t tap = taps - 2 - 2 * p + i % 2;
      sum = p == 0 ? filter.back_lo[tap] * coarse[p + i / 2]
                   : sum + filter.back_lo[tap] * coarse[p + i / 2];
      sum += filter.back_hi[tap] * fine[p + i / 2];
    }
    y[i] = sum;
  }
}

// Two buffers the pyramid alternates between. They stay with the thread: a round transforms one
// vector length over and over, and asking the allocator for megabytes each time costs more than the
// transform.
std::span<float> scratch(int which, std::size_t size) {
  thread_local std::array<Vector, 2> buffers;
  Vector& buffer = buffers[static_cast<std::size_t>(which % 2)];
  if (buffer.size() < size) buffer.resize(size);
  return std::span(buffer).first(size);
}

template <typename AnalyseLevel>
void forward(const WaveletPlan& plan, std::span<const float> values, std::span<float> coefficients,
             AnalyseLevel analyse) {
  CHECK(values.size() == plan.length());
  CHECK(coefficients.size() == plan.coefficients());
  std::span<const float> x = values;
  std::size_t fine_begin = coefficients.size();
  for (int level = 1; level <= plan.levels(); ++level) {
    const std::size_t length = plan.lengths[static_cast<std::size_t>(level)];
    fine_begin -= length;
    const bool last = level == plan.levels();
    const std::span<float> coarse = last ? coefficients.first(length) : scratch(level, length);
    analyse(*plan.filter, x, Outputs{coarse.data(), coefficients.data() + fine_begin}, length);
    x = coarse;
  }
}

template <typename SynthesiseLevel>
void inverse(const WaveletPlan& plan, std::span<const float> coefficients, std::span<float> values,
             SynthesiseLevel synthesise_level) {
  CHECK(values.size() == plan.length());
  CHECK(coefficients.size() == plan.coefficients());
  const float* coarse = coefficients.data();
  const float* fine = coefficients.data() + plan.lengths.back();
  for (int level = plan.levels(); level >= 1; --level) {
    // A level gives back one value more than it was made of when that number was odd; it is not
    // computed.
    const std::size_t length = plan.lengths[static_cast<std::size_t>(level) - 1];
    const std::span<float> y = level == 1 ? values : scratch(level, length);
    synthesise_level(*plan.filter, coarse, fine, y);
    coarse = y.data();
    fine += plan.lengths[static_cast<std::size_t>(level)];
  }
}

}  // namespace

std::span<const WaveletFilter> wavelet_filters() {
  // Daubechies' filters as PyWavelets prints them.
  static const std::array filters = {
      orthogonal("haar", "Haar, 2 taps", {0.7071067811865476, 0.7071067811865476}),
      orthogonal(
          "db2", "Daubechies, 4 taps",
          {-0.12940952255126037, 0.2241438680420134, 0.8365163037378079, 0.48296291314453416}),
      orthogonal("db3", "Daubechies, 6 taps",
                 {0.03522629188570953, -0.08544127388202666, -0.13501102001025458,
                  0.45987750211849154, 0.8068915093110925, 0.33267055295008263}),
      orthogonal(
          "db4", "Daubechies, 8 taps",
          {-0.010597401785069032, 0.0328830116668852, 0.030841381835560764, -0.18703481171909309,
           -0.027983769416859854, 0.6308807679298589, 0.7148465705529157, 0.2303778133088965}),
      orthogonal(
          "sym2", "symlet, 4 taps: JWINS's choice",
          {-0.12940952255092145, 0.22414386804185735, 0.836516303737469, 0.48296291314469025}),
      orthogonal("sym3", "symlet, 6 taps",
                 {0.035226291882100656, -0.08544127388224149, -0.13501102001039084,
                  0.4598775021193313, 0.8068915093133388, 0.3326705529509569}),
      orthogonal(
          "sym4", "symlet, 8 taps",
          {-0.07576571478927333, -0.02963552764599851, 0.49761866763201545, 0.8037387518059161,
           0.29785779560527736, -0.09921954357684722, -0.012603967262037833, 0.0322231006040427})};
  return filters;
}

std::size_t WaveletPlan::coefficients() const {
  std::size_t count = lengths.back();
  for (std::size_t level = 1; level < lengths.size(); ++level) count += lengths[level];
  return count;
}

WaveletPlan plan_wavelet(std::string_view filter, int levels, std::size_t length) {
  if (levels < 1 || levels > kWaveletLevelsMax)
    throw std::invalid_argument(
        fmt::format("wavelet: levels={} must be in [1, {}]", levels, kWaveletLevelsMax));
  if (length == 0) throw std::invalid_argument("wavelet: a vector of length 0 has no transform");
  WaveletPlan plan{.filter = &require_entry(wavelet_filters(), "wavelet", filter),
                   .lengths = {length}};
  const std::size_t taps = plan.filter->lo.size();
  for (int level = 1; level <= levels; ++level)
    plan.lengths.push_back((plan.lengths.back() + taps - 1) / 2);
  return plan;
}

void wavelet_forward(const WaveletPlan& plan, std::span<const float> values,
                     std::span<float> coefficients) {
  forward(plan, values, coefficients, analyse_level);
}

void wavelet_inverse(const WaveletPlan& plan, std::span<const float> coefficients,
                     std::span<float> values) {
  inverse(
      plan, coefficients, values,
      [](const WaveletFilter& filter, const float* coarse, const float* fine, std::span<float> y) {
        synthesise(filter.back_lo, filter.back_hi, coarse, fine, y.data(), y.size());
      });
}

namespace plain {

void wavelet_forward(const WaveletPlan& plan, std::span<const float> values,
                     std::span<float> coefficients) {
  forward(plan, values, coefficients, plain_analyse);
}

void wavelet_inverse(const WaveletPlan& plan, std::span<const float> coefficients,
                     std::span<float> values) {
  inverse(plan, coefficients, values, plain_synthesise);
}

}  // namespace plain
}  // namespace tessera
