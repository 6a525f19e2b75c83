#include "data/formats/image.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tessera {
namespace {

// Keys' cubic convolution kernel with a = -1/2.
double cubic(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

// How one output place mixes input places [first, first + weights.size()).
struct Mix {
  std::size_t first = 0;
  std::vector<double> weights{};
};

// When an image shrinks, the kernel widens with the ratio, so that every input pixel counts.
std::vector<Mix> mixes(std::uint32_t from, std::uint32_t to) {
  const double ratio = static_cast<double>(from) / to;
  const double stretch = std::max(ratio, 1.0);
  const double reach = 2 * stretch;
  std::vector<Mix> all(to);
  for (std::uint32_t i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * ratio;
    const double low = std::max(0.0, std::floor(centre - reach + 0.5));
    const double high = std::min<double>(from, std::floor(centre + reach + 0.5));
    Mix& mix = all[i];
    mix.first = static_cast<std::size_t>(low);
    double sum = 0;
    for (double place = low; place < high; ++place) {
      mix.weights.push_back(cubic((place - centre + 0.5) / stretch));
      sum += mix.weights.back();
    }
    for (double& weight : mix.weights) weight /= sum;
  }
  return all;
}

std::uint8_t to_pixel(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// Resizes along one axis: `lines` runs of `from` places, each place `stride` bytes from the next.
struct Axis {
  std::size_t lines = 0;  // Outer runs.
  std::size_t block = 0;  // Bytes of one place, all resized alike.
  std::uint32_t from = 0, to = 0;
};

std::vector<std::uint8_t> resize_axis(std::span<const std::uint8_t> in, Axis axis) {
  const std::vector<Mix> all = mixes(axis.from, axis.to);
  std::vector<std::uint8_t> out(axis.lines * axis.to * axis.block);
  for (std::size_t line = 0; line < axis.lines; ++line)
    for (std::uint32_t i = 0; i < axis.to; ++i)
      for (std::size_t b = 0; b < axis.block; ++b) {
        const Mix& mix = all[i];
        const std::size_t start = (line * axis.from + mix.first) * axis.block + b;
        double value = 0;
        for (std::size_t k = 0; k < mix.weights.size(); ++k)
          value += mix.weights[k] * in[start + k * axis.block];
        out[(line * axis.to + i) * axis.block + b] = to_pixel(value);
      }
  return out;
}

}  // namespace

Image resized(const Image& image, std::uint32_t height, std::uint32_t width) {
  CHECK(height > 0);
  CHECK(width > 0);
  const Axis across{
      .lines = image.height, .block = image.channels, .from = image.width, .to = width};
  const Axis down{
      .lines = 1, .block = std::size_t{width} * image.channels, .from = image.height, .to = height};
  return {image.channels, height, width, resize_axis(resize_axis(image.pixels, across), down)};
}

void copy_planes(const Image& image, std::span<std::uint8_t> planes) {
  CHECK(planes.size() == image.pixels.size());
  const std::size_t plane = std::size_t{image.height} * image.width;
  for (std::size_t c = 0; c < image.channels; ++c)
    for (std::size_t i = 0; i < plane; ++i)
      planes[c * plane + i] = image.pixels[i * image.channels + c];
}

Result<Image> decode_image(ByteSpan bytes, std::uint32_t channels, std::uint64_t pixels_max) {
  const auto begins_with = [&](std::initializer_list<unsigned> head) {
    return bytes.size() >= head.size() &&
           std::equal(head.begin(), head.end(), bytes.begin(),
                      [](unsigned a, std::byte b) { return std::byte(a) == b; });
  };
  if (begins_with({0xff, 0xd8, 0xff})) return decode_jpeg(bytes, channels, pixels_max);
  if (begins_with({0x89, 'P', 'N', 'G'})) return decode_png(bytes, channels, pixels_max);
  return Error{"magic", "byte 0: neither a JPEG nor a PNG image"};
}

}  // namespace tessera
