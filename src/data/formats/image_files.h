// Many image files into one block of pixels, decoded on all cores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"

namespace tessera {

struct ImageForm {
  std::uint32_t channels = 3;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  bool resize = false;  // Otherwise an image of another size is an error.
};

// Channel after channel, image after image, in the order of the paths. The first file that cannot
// be used is named.
Result<std::vector<std::uint8_t>> read_images(std::span<const std::filesystem::path> paths,
                                              const ImageForm& form);

}  // namespace tessera
