// Convolutions of numbers that are written as pairs of halves (pairs.cuh): precision=3xf16, and
// tf32 without the smaller halves, whose larger ones have TF32's 11 bits. What is convolved is
// split beforehand, images and weights alike, into rows as long as those of floats: of every group
// of channels the larger halves, then the smaller ones. Groups are of 32 channels, or of 16 where
// 32 do not divide their number.
#pragma once

#include "cuda/kernels.h"

namespace tessera::cuda {

// One over the scale is kept of every image, or of every node for weights.
struct Pairs {
  float* data = nullptr;
  float* unit = nullptr;
};

inline bool takes_pairs(Precision precision) {
  return precision == Precision::k3xF16 || precision == Precision::kTf32;
}
inline int pair_group(int channels) {
  return channels % 32 == 0 ? 32 : 16;
}

// Splits every image, rows of floats that are not chosen from others. Images have one scale each,
// or in training the batch of a node has one, since gradients of weights are sums over a batch.
// `maxima` is memory for the largest number of every image, used where `from` does not know them.
// `to` may take the place of `from`.
void split_images(const Pass& pass, const Rows& from, int channels, float* maxima, const Pairs& to);
// Splits a convolution's weights, in pieces. `maxima` is memory for the largest number of every
// node's pieces.
int weight_pieces(const ConvShape& shape);
void split_weights(const Pass& pass, const ConvShape& shape, std::size_t weights, float* maxima,
                   const Pairs& to);

// As kernels.h has them.
void convolve_pairs(const Pass& pass, const ConvShape& shape, const Pairs& in, const Pairs& weights,
                    std::size_t bias, float* out);
void convolve_inputs_pairs(const Pass& pass, const ConvShape& shape, const Pairs& d_out,
                           const Pairs& weights, float* d_in);
void convolve_weights_pairs(const Pass& pass, const ConvShape& shape, const Pairs& in,
                            const Pairs& d_out, float* d_weights);

// The first convolution, of images with at most four channels. A pixel is four larger halves and
// four smaller ones, and all images have one scale.
constexpr std::size_t kPixelChannels = 4;
inline bool first_pairs_fit(const ConvShape& shape) {
  return shape.inputs <= static_cast<int>(kPixelChannels) && shape.kernel <= 5 && shape.stride == 1;
}
struct PixelPairs {
  Rows rows{};  // Four floats to a pixel.
  float unit = 1;
};
inline PixelPairs pixel_pairs(const Rows& images, int channels) {
  return {{.data = images.pixel_pairs,
           .width = images.width / static_cast<std::size_t>(channels) * kPixelChannels,
           .chosen = images.chosen,
           .chosen_stride = images.chosen_stride},
          images.pixel_unit};
}
// Splits the pixels of a whole dataset, and writes their unit. Waits for neither.
struct PixelSplit {
  std::size_t pixels = 0;
  int channels = 0;
  const float* from = nullptr;
  float* to = nullptr;
  float* unit = nullptr;
};
void split_pixels(const PixelSplit& split);
// Of the weights as they are split for it.
std::size_t first_weights_size(const ConvShape& shape);
void split_first_weights(const Pass& pass, const ConvShape& shape, std::size_t weights,
                         const Pairs& to);
void convolve_first(const Pass& pass, const ConvShape& shape, const PixelPairs& in,
                    const Pairs& weights, std::size_t bias, float* out);
// From d_out in floats, whose maxima are known.
void convolve_first_weights(const Pass& pass, const ConvShape& shape, const PixelPairs& in,
                            const Rows& d_out, float* d_weights);

}  // namespace tessera::cuda
