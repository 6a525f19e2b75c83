// Which taps of a convolution's kernel meet the image, for the kernels of conv_kernels.h and
// conv_bf16.h.
#pragma once

#include <algorithm>
#include <cstddef>

#include "learn/conv_kernels.h"

namespace tessera {

// The taps of a kernel that fall inside `extent` when it is centred on `place`.
struct Taps {
  std::size_t first = 0, last = 0;
  Taps(std::size_t place, std::size_t extent, std::size_t kernel)
      : first(place < kernel / 2 ? kernel / 2 - place : 0),
        last(std::min(kernel, extent + kernel / 2 - place)) {}
};

// One tap of one line of d_out: the pixels from `first` to before `last` meet the image. With
// stride 1 they are neighbours in both, and their samples are one run.
struct LineOfTap {
  std::size_t first = 0, last = 0;
  LineOfTap(const ConvShape& s, std::size_t kx)
      : first(kx < s.kernel / 2 ? (s.kernel / 2 - kx + s.stride - 1) / s.stride : 0),
        last(s.width + s.kernel / 2 > kx
                 ? std::min(s.out_width(), (s.width + s.kernel / 2 - kx + s.stride - 1) / s.stride)
                 : 0) {}
};

// Where a tap that reaches place `at` of the input stands in the output, or nowhere.
inline bool reaches(std::size_t at, std::size_t tap, const ConvShape& s, std::size_t extent,
                    std::size_t& place) {
  const std::size_t centre = at + s.kernel / 2;
  if (centre < tap || (centre - tap) % s.stride != 0) return false;
  place = (centre - tap) / s.stride;
  return place < extent;
}

}  // namespace tessera
