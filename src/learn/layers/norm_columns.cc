#include "learn/layers/norm_columns.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kNormEpsilon = 1e-5;

}  // namespace

NormColumns::NormColumns(std::size_t channels, std::size_t columns_max) : channels_(channels) {
  for (Floats64* column : {&mean_, &inverse_, &shift_, &slope_, &offset_, &sums_, &more_sums_})
    column->assign(columns_max, 0);
  scale_.assign(columns_max, 1);
}

NormColumns::NormColumns(const GroupNorm& norm, const CpuPlace& place, std::size_t columns_max)
    : NormColumns(norm.channels, columns_max) {
  groups_ = norm.groups;
  gamma_ = place.offset(0);
  beta_ = place.offset(1);
}

void NormColumns::measure(PoolShape shape, std::span<const float> parameters, const float* x) {
  const std::size_t width = channels_ / groups_;
  const double count = static_cast<double>(width * shape.pixels());
  column_sums(shape, x, sums_.data());
  for (std::size_t start = 0; start < shape.columns; start += width) {
    double sum = 0;
    for (std::size_t c = start; c < start + width; ++c) sum += double{sums_[c]};
    std::fill_n(mean_.data() + start, width, static_cast<float>(sum / count));
  }
  column_squares(shape, x, mean_.data(), sums_.data());
  for (std::size_t start = 0; start < shape.columns; start += width) {
    double squares = 0;
    for (std::size_t c = start; c < start + width; ++c) squares += double{sums_[c]};
    const auto inverse = static_cast<float>(1 / std::sqrt(squares / count + kNormEpsilon));
    std::fill_n(inverse_.data() + start, width, inverse);
    for (std::size_t c = start; c < start + width; ++c) {
      const std::size_t channel = c % channels_;
      scale_[c] = inverse * parameters[gamma_ + channel];
      shift_[c] = parameters[beta_ + channel] - mean_[c] * scale_[c];
    }
  }
}

// With g = d_shift and h = d_scale: d_beta adds up g, d_gamma r h, and
//   dx = scale dy - r A - r^2 (x - mean) B,  A = sum(gamma g) / count,  B = r sum(gamma h) / count
void NormColumns::differentiate(PoolShape shape, std::span<const float> parameters,
                                std::span<float> gradient) {
  std::fill_n(gradient.data() + gamma_, channels_, 0.0f);
  std::fill_n(gradient.data() + beta_, channels_, 0.0f);
  const std::size_t width = channels_ / groups_;
  const double count = static_cast<double>(width * shape.pixels());
  for (std::size_t start = 0; start < shape.columns; start += width) {
    double a = 0, b = 0;
    const double r = double{inverse_[start]};
    for (std::size_t c = start; c < start + width; ++c) {
      const std::size_t channel = c % channels_;
      gradient[beta_ + channel] += sums_[c];
      gradient[gamma_ + channel] += inverse_[c] * more_sums_[c];
      a += double{parameters[gamma_ + channel]} * double{sums_[c]};
      b += double{parameters[gamma_ + channel]} * double{more_sums_[c]};
    }
    const double slope = -r * r * r * b / count;
    std::fill_n(slope_.data() + start, width, static_cast<float>(slope));
    const double offset = -r * a / count - slope * double{mean_[start]};
    std::fill_n(offset_.data() + start, width, static_cast<float>(offset));
  }
}

}  // namespace tessera
