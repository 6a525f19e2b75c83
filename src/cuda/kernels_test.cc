// Every kernel beside plain loops in double precision on the CPU. Where there is no GPU these tests
// say so and are skipped.
#include "cuda/kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cuda/for_tests.h"
#include "cuda/pairs.h"
#include "learn/testing.h"

namespace tessera::cuda {
namespace {

constexpr int kNodes = 3, kBatch = 5;

// A convolution of every node's batch with weights in the kernels' order.
struct Convolutions {
  explicit Convolutions(const ConvShape& chosen)
      : shape(chosen),
        in(images(shape.height * shape.width * shape.inputs), 1),
        d_out(images(shape.out_height() * shape.out_width() * shape.outputs), 2),
        parameters(static_cast<std::size_t>(kNodes) * dimension(), 3) {
    if (shape.by_rows()) clear_filling_rows();
  }

  // By rows, what fills up a segment is zero.
  void clear_filling_rows() {
    for (int node = 0; node < kNodes; ++node)
      for (int row = 0; row < shape.rows(); ++row)
        if (row % shape.length() >= shape.kernel * shape.inputs)
          std::fill_n(
              parameters.host.begin() + static_cast<std::ptrdiff_t>(weight_at(node * kBatch, row)),
              shape.outputs, 0.0f);
    parameters.send();
  }

  static std::size_t images(int width) { return static_cast<std::size_t>(kNodes * kBatch * width); }
  std::size_t dimension() const {
    return static_cast<std::size_t>((shape.rows() + 1) * shape.outputs);
  }
  Pass pass(Precision precision) const {
    return {.nodes = kNodes,
            .batch = kBatch,
            .parameters = parameters.device(),
            .dimension = dimension(),
            .precision = precision};
  }
  Rows rows() const {
    return {.data = in.device(),
            .width = static_cast<std::size_t>(shape.height * shape.width * shape.inputs)};
  }

  // visit(image, out pixel's number, in pixel's number, row of the weights of its first channel).
  template <typename Visit>
  void for_taps(const Visit& visit) const {
    const int pad = shape.kernel / 2;
    for (int image = 0; image < kNodes * kBatch; ++image)
      for (int y = 0; y < shape.out_height(); ++y)
        for (int x = 0; x < shape.out_width(); ++x)
          for (int ky = 0; ky < shape.kernel; ++ky)
            for (int kx = 0; kx < shape.kernel; ++kx) {
              const int in_y = y * shape.stride + ky - pad, in_x = x * shape.stride + kx - pad;
              if (in_y < 0 || in_x < 0 || in_y >= shape.height || in_x >= shape.width) continue;
              const int row = shape.by_rows() ? ky * shape.length() + kx * shape.inputs
                                              : (ky * shape.kernel + kx) * shape.length();
              visit(image, y * shape.out_width() + x, in_y * shape.width + in_x, row);
            }
  }
  std::size_t in_at(int image, int pixel) const {
    return static_cast<std::size_t>((image * shape.height * shape.width + pixel) * shape.inputs);
  }
  std::size_t out_at(int image, int pixel) const {
    return static_cast<std::size_t>((image * shape.out_height() * shape.out_width() + pixel) *
                                    shape.outputs);
  }
  std::size_t weight_at(int image, int row) const {
    return static_cast<std::size_t>(image / kBatch) * dimension() +
           static_cast<std::size_t>(row * shape.outputs);
  }

  ConvShape shape;
  Numbers in, d_out, parameters;
};

// What should come out: sums over all products of a pixel, a weight and a gradient of the result.
struct Reference {
  explicit Reference(const Convolutions& all)
      : out(all.d_out.host.size()), d_in(all.in.host.size()), d_weights(kNodes * all.dimension()) {
    const ConvShape& shape = all.shape;
    const auto outputs = static_cast<std::size_t>(shape.outputs);
    for (int image = 0; image < kNodes * kBatch; ++image)
      for (int pixel = 0; pixel < shape.out_height() * shape.out_width(); ++pixel)
        for (std::size_t o = 0; o < outputs; ++o)
          out[all.out_at(image, pixel) + o] =
              double{all.parameters.host[all.weight_at(image, shape.rows()) + o]};
    all.for_taps([&](int image, int out_pixel, int in_pixel, int row) {
      const std::size_t to = all.out_at(image, out_pixel);
      for (int c = 0; c < shape.inputs; ++c) {
        const std::size_t from = all.in_at(image, in_pixel) + static_cast<std::size_t>(c);
        const std::size_t weights = all.weight_at(image, row + c);
        const double x = double{all.in.host[from]};
        for (std::size_t o = 0; o < outputs; ++o) {
          const double weight = double{all.parameters.host[weights + o]};
          const double d = double{all.d_out.host[to + o]};
          out[to + o] += x * weight;
          d_in[from] += d * weight;
          d_weights[weights + o] += x * d;
        }
      }
    });
  }

  Doubles out, d_in, d_weights;
};

// Memory for pairs of halves, with something else in it at first.
struct PairMemory {
  PairMemory(std::size_t size, std::size_t units) : numbers(size, 7), unit(units, 8) {}
  Pairs pairs() const { return {numbers.device(), unit.device()}; }
  Numbers numbers, unit;
};

constexpr std::size_t kImages = kNodes * kBatch;

// Images, gradients and weights of convolutions as pairs.
struct SplitConvolutions {
  explicit SplitConvolutions(const Convolutions& all)
      : in(all.in.host.size(), kImages),
        d_out(all.d_out.host.size(), kImages),
        weights(kNodes * std::max(all.dimension(), first_weights_size(all.shape)), kNodes),
        pixels(all.in.host.size() / static_cast<std::size_t>(all.shape.inputs) * kPixelChannels, 1),
        shape(all.shape),
        weight_maxima(static_cast<std::size_t>(kNodes * weight_pieces(shape)), 10) {
    const Pass pass = all.pass(Precision::k3xF16);
    if (shape.by_rows()) {
      split_first_weights(pass, shape, 0, weights.pairs());
      split_pixels({pixels.numbers.host.size() / kPixelChannels, shape.inputs, all.in.device(),
                    pixels.numbers.device(), pixels.unit.device()});
      return;
    }
    split_weights(pass, shape, 0, weight_maxima.device(), weights.pairs());
    split_images(pass, all.rows(), shape.inputs, maxima.device(), in.pairs());
    split_images(pass, d_rows(all), shape.outputs, nullptr, d_out.pairs());
  }
  Rows d_rows(const Convolutions& all) const {
    const std::size_t width = all.d_out.host.size() / kImages;
    std::fill(d_maxima.host.begin(), d_maxima.host.end(), 0.0f);
    for (std::size_t i = 0; i < all.d_out.host.size(); ++i)
      d_maxima.host[i / width] = std::max(d_maxima.host[i / width], std::abs(all.d_out.host[i]));
    d_maxima.send();
    return {.data = all.d_out.device(), .width = width, .maxima = d_maxima.device()};
  }
  PixelPairs pixel_rows() const {
    return {{.data = pixels.numbers.device(), .width = pixels.numbers.host.size() / kImages},
            pixels.unit.back()[0]};
  }

  PairMemory in, d_out, weights, pixels;
  ConvShape shape;
  Numbers weight_maxima, maxima{kImages, 9};
  mutable Numbers d_maxima{kImages, 9};
};

struct Case {
  explicit Case(const ConvShape& shape) : all(shape), wanted(all) {}
  explicit Case(Convolutions made) : all(std::move(made)), wanted(all) {}
  Convolutions all;
  Reference wanted;
};

double forward_error(const Case& one, Precision precision, bool by_pairs) {
  const Convolutions& all = one.all;
  const ConvShape& shape = all.shape;
  const auto bias = static_cast<std::size_t>(shape.rows() * shape.outputs);
  const Numbers out(one.wanted.out.size(), 4);
  const Pass pass = all.pass(precision);
  if (!by_pairs) {
    convolve(pass, shape, all.rows(), 0, bias, out.device());
    return error_of(out.back(), one.wanted.out);
  }
  const SplitConvolutions split(all);
  if (shape.by_rows())
    convolve_first(pass, shape, split.pixel_rows(), split.weights.pairs(), bias, out.device());
  else
    convolve_pairs(pass, shape, split.in.pairs(), split.weights.pairs(), bias, out.device());
  return error_of(out.back(), one.wanted.out);
}

double inputs_error(const Case& one, Precision precision, bool by_pairs) {
  const Convolutions& all = one.all;
  const Numbers d_in(one.wanted.d_in.size(), 5);
  const Pass pass = all.pass(precision);
  if (by_pairs) {
    const SplitConvolutions split(all);
    convolve_inputs_pairs(pass, all.shape, split.d_out.pairs(), split.weights.pairs(),
                          d_in.device());
  } else {
    convolve_inputs(pass, all.shape, all.d_out.device(), 0, d_in.device());
  }
  return error_of(d_in.back(), one.wanted.d_in);
}

double weights_error(const Case& one, Precision precision, bool by_pairs) {
  const Convolutions& all = one.all;
  const auto size = static_cast<std::size_t>(all.shape.rows() * all.shape.outputs);
  const auto parts = static_cast<std::size_t>(weight_parts(all.shape, kBatch));
  const Numbers d_weights(kNodes * parts * size, 6);
  const Pass pass = all.pass(precision);
  if (!by_pairs) {
    convolve_weights(pass, all.shape, all.rows(), all.d_out.device(), d_weights.device());
  } else {
    const SplitConvolutions split(all);
    if (all.shape.by_rows())
      convolve_first_weights(pass, all.shape, split.pixel_rows(), split.d_rows(all),
                             d_weights.device());
    else
      convolve_weights_pairs(pass, all.shape, split.in.pairs(), split.d_out.pairs(),
                             d_weights.device());
  }
  const Vector got = d_weights.back();
  Vector sums(kNodes * size);
  Doubles wanted(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    wanted[i] = one.wanted.d_weights[i / size * all.dimension() + i % size];
    for (std::size_t part = 0; part < parts; ++part)
      sums[i] += got[(i / size * parts + part) * size + i % size];
  }
  return error_of(sums, wanted);
}

// Tiles of one image and of several, odd sizes, strides, channels by taps and by rows.
const std::vector<ConvShape> kShapes = {
    {32, 32, 3, 32, 5},   {16, 16, 32, 32, 5},  {8, 8, 32, 64, 5},    {28, 28, 1, 16, 5},
    {9, 9, 16, 32, 3, 2}, {9, 9, 16, 32, 1, 2}, {7, 7, 16, 16, 3},    {21, 21, 32, 32, 3},
    {5, 5, 48, 16, 3},    {84, 84, 3, 32, 3},   {4, 6, 64, 64, 3, 2}, {2, 2, 512, 32, 3},
    {2, 2, 32, 512, 3}};

std::string name_of(const ConvShape& s) {
  return fmt::format("{}x{}, {} to {}, kernel {}, stride {}", s.height, s.width, s.inputs,
                     s.outputs, s.kernel, s.stride);
}

// How each way of multiplying is asked for, and the largest error it may have.
struct Way {
  Precision precision;
  bool by_pairs;
  double error_max;
};
constexpr Way kWays[] = {{Precision::kFp32, false, 2e-6},
                         {Precision::k3xTf32, false, 2e-6},
                         {Precision::k3xF16, true, 2e-6},
                         {Precision::kTf32, false, 1e-3},
                         {Precision::kTf32, true, 1e-3}};

TEST(CudaKernels, ConvolveAsPlainLoopsDo) {
  SKIP_WITHOUT_GPU();
  for (const ConvShape& shape : kShapes) {
    const Case all(shape);
    for (const auto& [precision, by_pairs, error_max] : kWays) {
      SCOPED_TRACE(fmt::format("{} {}{}", name_of(shape), to_string(precision),
                               by_pairs ? " by pairs" : ""));
      EXPECT_LT(forward_error(all, precision, by_pairs), error_max);
      EXPECT_LT(weights_error(all, precision, by_pairs), error_max);
      if (!shape.by_rows()) {
        EXPECT_LT(inputs_error(all, precision, by_pairs), error_max);
      }
    }
  }
}

// The reason 3xf16 is the default: against double precision it errs no more than plain float32.
TEST(CudaKernels, ThreeProductsAreAsExactAsFloat32) {
  SKIP_WITHOUT_GPU();
  for (const ConvShape& shape : {ConvShape{16, 16, 32, 32, 5}, ConvShape{8, 8, 32, 64, 5}}) {
    const Case all(shape);
    for (const auto error : {forward_error, inputs_error, weights_error}) {
      const double plain = error(all, Precision::kFp32, false),
                   three = error(all, Precision::k3xTf32, false),
                   pairs = error(all, Precision::k3xF16, true);
      fmt::print("{}: fp32 {:.3g}, 3xf16 {:.3g}, 3xtf32 {:.3g}, tf32 {:.3g}\n", name_of(shape),
                 plain, pairs, three, error(all, Precision::kTf32, true));
      EXPECT_LE(three, plain) << name_of(shape);
      EXPECT_LE(pairs, plain) << name_of(shape);
    }
  }
}

// A node's scale follows from its largest number: gradients may be as small or large as floats are.
TEST(CudaKernels, PairsKeepTheirAccuracyAtAnyScale) {
  SKIP_WITHOUT_GPU();
  for (const float scale : {1e-12f, 1e-6f, 1e4f, 1e9f}) {
    SCOPED_TRACE(scale);
    Convolutions made({16, 16, 32, 32, 5});
    for (float& x : made.d_out.host) x *= scale;
    made.d_out.send();
    const Case all(std::move(made));
    EXPECT_LT(inputs_error(all, Precision::k3xF16, true), 1e-6);
    EXPECT_LT(weights_error(all, Precision::k3xF16, true), 1e-6);
  }
}

// The zeros around 128 images of one pixel take more shared memory than there is.
TEST(CudaKernels, TinyImagesAreConvolvedInBatchesOfAnySize) {
  SKIP_WITHOUT_GPU();
  constexpr int kMany = 128, kFew = 8, kChannels = 32;
  const ConvShape shape{1, 1, kChannels, kChannels, 5};
  const auto weights = static_cast<std::size_t>(shape.rows() * shape.outputs);
  const Numbers images(kMany * kChannels, 1), parameters(weights + kChannels, 2), maxima(kMany, 3),
      together(images.host.size(), 4), by_few(images.host.size(), 5);
  const PairMemory split_in(images.host.size(), kMany), split_by(weights, 1);
  const Numbers weight_maxima(static_cast<std::size_t>(weight_pieces(shape)), 6);
  Pass pass{.nodes = 1,
            .batch = kMany,
            .parameters = parameters.device(),
            .dimension = weights + kChannels,
            .precision = Precision::k3xF16};
  split_weights(pass, shape, 0, weight_maxima.device(), split_by.pairs());
  split_images(pass, {.data = images.device(), .width = kChannels}, kChannels, maxima.device(),
               split_in.pairs());
  for (const bool by_pairs : {true, false}) {
    const auto convolved = [&](int first, float* out) {
      const int at = first * kChannels;
      const Pairs in{split_in.pairs().data + at, split_in.pairs().unit + first};
      if (by_pairs) return convolve_pairs(pass, shape, in, split_by.pairs(), weights, out + at);
      convolve(pass, shape, {.data = images.device() + at, .width = kChannels}, 0, weights,
               out + at);
    };
    pass.batch = kMany;
    convolved(0, together.device());
    pass.batch = kFew;
    for (int first = 0; first < kMany; first += kFew) convolved(first, by_few.device());
    EXPECT_EQ(together.back(), by_few.back()) << by_pairs;
  }
}

// Of Adam's three rows to a node there are more than a grid is high.
TEST(CudaKernels, GatherAsManyRowsAsThereAre) {
  SKIP_WITHOUT_GPU();
  constexpr int kRows = 70'000;
  const std::vector<std::uint32_t> map = {1, kNowhere, 0};
  const DeviceArray<std::uint32_t> device_map(map.size());
  upload_now(device_map.data(), map.data(), map.size() * sizeof map[0]);
  const Numbers from(2 * kRows, 1), to(3 * kRows, 2);
  gather(nullptr, kRows, device_map.data(), 2, from.device(), 3, to.device());
  Vector wanted(to.host.size());
  for (std::size_t row = 0; row < kRows; ++row) {
    wanted[3 * row] = from.host[2 * row + 1];
    wanted[3 * row + 2] = from.host[2 * row];
  }
  EXPECT_EQ(to.back(), wanted);
}

}  // namespace
}  // namespace tessera::cuda
