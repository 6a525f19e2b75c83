// Norm, ReLU and pooling beside plain loops in double precision, image by image.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cuda/for_tests.h"
#include "cuda/kernels.h"

namespace tessera::cuda {
namespace {

constexpr int kNodes = 2, kBatch = 3, kImages = kNodes * kBatch;

std::size_t whole(int count) {
  return static_cast<std::size_t>(count);
}

// One image on the way there and back.
class PlainAfter {
 public:
  PlainAfter(const AfterShape& shape, const float* x, const float* gamma, const float* beta)
      : shape_(shape), gamma_(gamma), x_(x, x + shape.height * shape.width * shape.channels) {
    normalize();
    pool(beta);
  }
  const Doubles& out() const { return out_; }

  void back(const float* d_out) {
    Doubles dy(x_.size());
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (!shape_.relu || out_[i] > 0) dy[winner_[i]] += double{d_out[i]};
    d_x = dy;
    d_gamma.assign(whole(shape_.channels), 0);
    d_beta = d_bias = d_gamma;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      d_beta[channel(i)] += dy[i];
      if (shape_.groups > 0) d_gamma[channel(i)] += dy[i] * hat_[i];
    }
    for (int group = 0; group < shape_.groups; ++group) back_group(group, dy);
    for (std::size_t i = 0; i < d_x.size(); ++i) d_bias[channel(i)] += d_x[i];
  }

  Doubles d_x{}, d_gamma{}, d_beta{}, d_bias{};

 private:
  std::size_t channel(std::size_t i) const { return i % whole(shape_.channels); }
  bool in_group(std::size_t i, int group) const {
    return static_cast<int>(channel(i)) / (shape_.channels / shape_.groups) == group;
  }
  void normalize() {
    hat_ = x_;
    r_.resize(whole(shape_.groups));
    const double count = static_cast<double>(x_.size()) / std::max(1, shape_.groups);
    for (int group = 0; group < shape_.groups; ++group) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < x_.size(); ++i) mean += in_group(i, group) ? x_[i] / count : 0;
      for (std::size_t i = 0; i < x_.size(); ++i)
        variance += in_group(i, group) ? (x_[i] - mean) * (x_[i] - mean) / count : 0;
      r_[whole(group)] = 1 / std::sqrt(variance + 1e-5);
      for (std::size_t i = 0; i < x_.size(); ++i)
        if (in_group(i, group)) hat_[i] = (x_[i] - mean) * r_[whole(group)];
    }
  }
  void pool(const float* beta) {
    const int side = shape_.pool ? 2 : 1, width = shape_.width / side;
    for (int to = 0; to < shape_.height / side * width * shape_.channels; ++to) {
      const int pixel = to / shape_.channels, c = to % shape_.channels;
      std::size_t best = 0;
      double top = -1e300;
      for (int i = 0; i < side * side; ++i) {
        const int y = pixel / width * side + i / side, x = pixel % width * side + i % side;
        const std::size_t at = whole((y * shape_.width + x) * shape_.channels + c);
        const double value =
            shape_.groups > 0 ? hat_[at] * double{gamma_[c]} + double{beta[c]} : x_[at];
        if (value <= top) continue;
        top = value;
        best = at;
      }
      winner_.push_back(best);
      out_.push_back(shape_.relu ? std::max(0.0, top) : top);
    }
  }
  void back_group(int group, const Doubles& dy) {
    const double count = static_cast<double>(x_.size()) / shape_.groups;
    double sum = 0, along = 0;
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (in_group(i, group)) {
        sum += double{gamma_[channel(i)]} * dy[i] / count;
        along += double{gamma_[channel(i)]} * dy[i] * hat_[i] / count;
      }
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (in_group(i, group))
        d_x[i] = r_[whole(group)] * (double{gamma_[channel(i)]} * dy[i] - sum - hat_[i] * along);
  }

  AfterShape shape_;
  const float* gamma_;
  Doubles x_, hat_{}, r_{}, out_{};
  std::vector<std::size_t> winner_{};
};

void append(Doubles& to, const Doubles& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Of every image, exactly.
Vector largest_of_images(const Vector& numbers) {
  Vector largest(kImages);
  const std::size_t each = numbers.size() / kImages;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    largest[i / each] = std::max(largest[i / each], std::abs(numbers[i]));
  return largest;
}

void expect_plain(const AfterShape& shape) {
  const std::size_t in = whole(shape.height * shape.width * shape.channels);
  const std::size_t out = whole(shape.out_pixels() * shape.channels),
                    channels = whole(shape.channels);
  const Numbers parameters(kNodes * 2 * channels, 1), x(kImages * in, 2), d_out(kImages * out, 3),
      y(kImages * out, 4), sums(3 * kImages * channels, 5),
      moments(whole(2 * kImages * std::max(1, shape.groups)), 6), maxima(kImages, 7),
      d_maxima(kImages, 8);
  const DeviceArray<std::uint8_t> winner(kImages * out);
  Doubles wanted, d_x, d_gamma, d_beta, d_bias;
  for (std::size_t image = 0; image < kImages; ++image) {
    const float* const own = parameters.host.data() + image / kBatch * 2 * channels;
    PlainAfter plain(shape, x.host.data() + image * in, own, own + channels);
    plain.back(d_out.host.data() + image * out);
    append(wanted, plain.out());
    append(d_x, plain.d_x);
    append(d_gamma, plain.d_gamma);
    append(d_beta, plain.d_beta);
    append(d_bias, plain.d_bias);
  }
  const Pass pass{.nodes = kNodes,
                  .batch = kBatch,
                  .parameters = parameters.device(),
                  .dimension = 2 * channels};
  const AfterMemory memory{x.device(),       y.device(),      winner.data(),
                           moments.device(), maxima.device(), d_maxima.device()};
  after_convolution(pass, shape, memory, 0, channels);
  EXPECT_LT(error_of(y.back(), wanted), 1e-6);
  EXPECT_EQ(maxima.back(), largest_of_images(y.back()));
  const std::size_t part = kImages * channels;
  after_convolution_gradient(pass, shape, memory, 0, d_out.device(),
                             {sums.device(), sums.device() + part, sums.device() + 2 * part});
  EXPECT_LT(error_of(x.back(), d_x), 1e-5);
  EXPECT_EQ(d_maxima.back(), largest_of_images(x.back()));
  const Vector got = sums.back();
  const auto first = got.begin();
  const auto at = [&](std::size_t number) {
    return Vector(first + static_cast<std::ptrdiff_t>(number * part),
                  first + static_cast<std::ptrdiff_t>((number + 1) * part));
  };
  if (shape.groups > 0) {
    EXPECT_LT(error_of(at(0), d_gamma), 1e-5);
    EXPECT_LT(error_of(at(1), d_beta), 1e-5);
    // These sums are zero but for rounding: a norm forgets what is added to a whole group.
    if (shape.groups < shape.channels) {
      EXPECT_LT(error_of(at(2), d_bias), 1e-4);
    }
  } else {
    EXPECT_LT(error_of(at(2), d_bias), 1e-5);
  }
}

// Images that a block holds in registers and larger ones, odd sides, every combination of the
// three.
TEST(CudaKernels, NormReluAndPoolAreAsPlainLoopsDo) {
  SKIP_WITHOUT_GPU();
  for (const auto& [height, width, channels] :
       {std::array{32, 32, 32}, {8, 8, 64}, {7, 9, 16}, {84, 84, 32}, {5, 4, 48}})
    for (const int groups : {0, 2, 16})
      for (const bool relu : {false, true})
        for (const bool pool : {false, true}) {
          SCOPED_TRACE(fmt::format("{}x{}x{}, {} groups, ReLU {}, pool {}", height, width, channels,
                                   groups, relu, pool));
          expect_plain({height, width, channels, groups, relu, pool});
        }
}

}  // namespace
}  // namespace tessera::cuda
