#include "learn/conv_block.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tessera {
namespace {

constexpr double kNormEpsilon = 1e-5;

bool is_kind(std::span<const Layer> layers, std::size_t at, Layer::Kind kind) {
  return at < layers.size() && layers[at].kind == kind;
}

}  // namespace

std::unique_ptr<ConvBlock> ConvBlock::take(const Model& model, std::span<const Layer> layers,
                                           bool first, std::size_t batch_max, std::size_t& taken) {
  using Kind = Layer::Kind;
  if (!is_kind(layers, 0, Kind::kConvolution)) return nullptr;
  const Layer& convolution = layers[0];
  const bool normed = is_kind(layers, 1, Kind::kGroupNorm);
  const std::size_t then = normed ? 2 : 1;
  // Pooling and ReLU commute, both being monotone, and so do their gradients.
  const bool pooled =
      (is_kind(layers, then, Kind::kRelu) && is_kind(layers, then + 1, Kind::kMaxPool)) ||
      (is_kind(layers, then, Kind::kMaxPool) && is_kind(layers, then + 1, Kind::kRelu));
  const bool fits = convolution.outputs % 16 == 0 && convolution.stride == 1 &&
                    (first || convolution.inputs % 16 == 0);
  if (!pooled || !fits) return nullptr;
  taken = then + 2;
  return std::unique_ptr<ConvBlock>(
      new ConvBlock(model, convolution, normed ? &layers[1] : nullptr, first, batch_max));
}

ConvBlock::ConvBlock(const Model& model, const Layer& convolution, const Layer* norm, bool first,
                     std::size_t batch_max)
    : first_(first) {
  conv_ = {.height = convolution.in[1],
           .width = convolution.in[2],
           .batch = batch_max,
           .inputs = convolution.inputs,
           .outputs = convolution.outputs,
           .kernel = convolution.kernel};
  weight_ = model.parameters[convolution.first_parameter].offset;
  bias_ = model.parameters[convolution.first_parameter + 1].offset;
  if (norm) {
    groups_ = norm->groups;
    gamma_ = model.parameters[norm->first_parameter].offset;
    beta_ = model.parameters[norm->first_parameter + 1].offset;
  }
  resize(batch_max);
  const std::size_t columns = pool_.columns;
  if (first)
    images_.assign(conv_.height * batch_max * (conv_.width + conv_.kernel - 1) * conv_.inputs, 0);
  else
    turned_.resize(conv_.weights());
  x_.resize(pool_.pixels() * columns);
  for (Floats64* pooled : {&pooled_, &d_pooled_, &winner_x_})
    pooled->resize(pool_.pooled_pixels() * columns);
  winner_place_.resize(pooled_.size());
  for (Floats64* column : {&mean_, &inverse_, &shift_, &slope_, &offset_, &sums_, &more_sums_})
    column->assign(columns, 0);
  scale_.assign(columns, 1);
}

void ConvBlock::resize(std::size_t batch) {
  conv_.batch = batch;
  pool_ = {.height = conv_.height, .width = conv_.width, .columns = batch * conv_.outputs};
}

void ConvBlock::read_images(std::span<const float> images, std::size_t batch) {
  const std::size_t line = (conv_.width + conv_.kernel - 1) * conv_.inputs;
  // The zeros at both ends of a line stay; lines move when the batch changes its size.
  if (batch != conv_.batch) std::fill(images_.begin(), images_.end(), 0.0f);
  const float* from = images.data();
  for (std::size_t n = 0; n < batch; ++n)
    for (std::size_t c = 0; c < conv_.inputs; ++c)
      for (std::size_t y = 0; y < conv_.height; ++y) {
        float* to = images_.data() + (y * batch + n) * line + conv_.kernel / 2 * conv_.inputs + c;
        for (std::size_t x = 0; x < conv_.width; ++x, to += conv_.inputs) *to = *from++;
      }
  resize(batch);
}

void ConvBlock::forward(std::span<const float> parameters, const float* in, std::size_t batch) {
  resize(batch);
  const float* const weights = parameters.data() + weight_;
  const float* const bias = parameters.data() + bias_;
  if (first_)
    convolve_first(conv_, images_.data(), weights, bias, x_.data());
  else
    convolve(conv_, in, weights, bias, x_.data());
  if (groups_ > 0) normalize(parameters);
  relu_pool(pool_, x_.data(), scale_.data(), shift_.data(), pooled_.data(),
            {winner_x_.data(), winner_place_.data()});
}

// Columns of one group and sample are neighbours, so a group is a run of `width` columns.
void ConvBlock::normalize(std::span<const float> parameters) {
  const std::size_t width = conv_.outputs / groups_;
  const double count = static_cast<double>(width * pool_.pixels());
  column_sums(pool_, x_.data(), sums_.data());
  for (std::size_t start = 0; start < pool_.columns; start += width) {
    double sum = 0;
    for (std::size_t c = start; c < start + width; ++c) sum += double{sums_[c]};
    std::fill_n(mean_.data() + start, width, static_cast<float>(sum / count));
  }
  column_squares(pool_, x_.data(), mean_.data(), sums_.data());
  for (std::size_t start = 0; start < pool_.columns; start += width) {
    double squares = 0;
    for (std::size_t c = start; c < start + width; ++c) squares += double{sums_[c]};
    const auto inverse = static_cast<float>(1 / std::sqrt(squares / count + kNormEpsilon));
    std::fill_n(inverse_.data() + start, width, inverse);
    for (std::size_t c = start; c < start + width; ++c) {
      const std::size_t channel = c % conv_.outputs;
      scale_[c] = inverse * parameters[gamma_ + channel];
      shift_[c] = parameters[beta_ + channel] - mean_[c] * scale_[c];
    }
  }
}

void ConvBlock::backward(std::span<const float> parameters, std::span<float> gradient,
                         const float* in, float* d_in) {
  if (groups_ > 0) norm_gradient(parameters, gradient);
  relu_pool_gradient(pool_, x_.data(), d_pooled_.data(), {winner_x_.data(), winner_place_.data()},
                     {scale_.data(), slope_.data(), offset_.data()}, sums_.data());
  float* const d_bias = gradient.data() + bias_;
  std::fill_n(d_bias, conv_.outputs, 0.0f);
  for (std::size_t c = 0; c < pool_.columns; ++c) d_bias[c % conv_.outputs] += sums_[c];
  float* const d_weights = gradient.data() + weight_;
  if (first_)
    convolve_first_weights(conv_, images_.data(), x_.data(), d_weights);
  else
    convolve_weights(conv_, in, x_.data(), d_weights);
  if (!d_in) return;
  turn_weights(conv_, parameters.data() + weight_, turned_.data());
  ConvShape back = conv_;
  std::swap(back.inputs, back.outputs);
  convolve(back, x_.data(), turned_.data(), nullptr, d_in);
}

// With g = sum of dy and h = sum of dy (x - mean) per column: d_beta adds up g, d_gamma r h, and
//   dx = scale dy - r A - r^2 (x - mean) B,   A = sum(gamma g) / count,   B = r sum(gamma h) /
//   count
void ConvBlock::norm_gradient(std::span<const float> parameters, std::span<float> gradient) {
  winner_sums(pool_, d_pooled_.data(), {winner_x_.data(), winner_place_.data()}, mean_.data(),
              sums_.data(), more_sums_.data());
  std::fill_n(gradient.data() + gamma_, conv_.outputs, 0.0f);
  std::fill_n(gradient.data() + beta_, conv_.outputs, 0.0f);
  const std::size_t width = conv_.outputs / groups_;
  const double count = static_cast<double>(width * pool_.pixels());
  for (std::size_t start = 0; start < pool_.columns; start += width) {
    double a = 0, b = 0;
    const double r = double{inverse_[start]};
    for (std::size_t c = start; c < start + width; ++c) {
      const std::size_t channel = c % conv_.outputs;
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

void ConvBlock::flatten(float* rows) const {
  const std::size_t pixels = pool_.pooled_pixels(), channels = conv_.outputs;
  for (std::size_t n = 0; n < conv_.batch; ++n)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < pixels; ++p)
        *rows++ = pooled_[(p * conv_.batch + n) * channels + c];
}

void ConvBlock::unflatten(const float* rows) {
  const std::size_t pixels = pool_.pooled_pixels(), channels = conv_.outputs;
  for (std::size_t n = 0; n < conv_.batch; ++n)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < pixels; ++p)
        d_pooled_[(p * conv_.batch + n) * channels + c] = *rows++;
}

void ConvBlock::arrange(std::span<const float> flat, std::span<float> working) const {
  const std::size_t taps = conv_.kernel * conv_.kernel;
  const float* from = flat.data() + weight_;
  for (std::size_t o = 0; o < conv_.outputs; ++o)
    for (std::size_t c = 0; c < conv_.inputs; ++c)
      for (std::size_t tap = 0; tap < taps; ++tap)
        working[weight_ + (tap * conv_.inputs + c) * conv_.outputs + o] = *from++;
}

void ConvBlock::restore(std::span<const float> working, std::span<float> flat) const {
  const std::size_t taps = conv_.kernel * conv_.kernel;
  float* to = flat.data() + weight_;
  for (std::size_t o = 0; o < conv_.outputs; ++o)
    for (std::size_t c = 0; c < conv_.inputs; ++c)
      for (std::size_t tap = 0; tap < taps; ++tap)
        *to++ = working[weight_ + (tap * conv_.inputs + c) * conv_.outputs + o];
}

}  // namespace tessera
