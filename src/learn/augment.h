// Images changed a little every time they are trained on, as torchvision's RandomCrop (with
// padding) and RandomHorizontalFlip do. Numbers outside of the image are zero, as the model sees
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/random.h"
#include "data/dataset.h"
#include "learn/image_move.h"

namespace tessera {

struct AugmentOptions {
  bool flip = false;       // Left to right, every other time.
  std::uint32_t crop = 0;  // Moved by up to so many pixels along each axis.
  bool any() const { return flip || crop > 0; }
};

ImageMove draw_move(const AugmentOptions& options, Random& random);

// Throws std::invalid_argument where the data has no images, or smaller ones than it is moved by.
void require_images_to_augment(const AugmentOptions& options, const Task& task);

class Augment {
 public:
  Augment(const AugmentOptions& options, const Task& task) : options_(options), task_(task) {}
  // One image, in place.
  void apply(std::span<float> image, Random& random);

 private:
  AugmentOptions options_;
  const Task& task_;
  Vector before_;
};

}  // namespace tessera
