#include "learn/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.h"

namespace tessera {

void require_images_to_augment(const AugmentOptions& options, const Task& task) {
  if (!options.any()) return;
  const std::string what = options.flip ? "flip=yes" : fmt::format("crop={}", options.crop);
  if (task.kind != Task::Kind::kImages || task.shape.size() != 3)
    throw std::invalid_argument(
        fmt::format("training: {} is for images, and the data has none: leave it out", what));
  if (const std::uint32_t side = std::min(task.shape[1], task.shape[2]); options.crop >= side)
    throw std::invalid_argument(fmt::format(
        "training: crop={} moves images of {} pixels out of sight: use less", options.crop, side));
}

ImageMove draw_move(const AugmentOptions& options, Random& random) {
  const auto crop = static_cast<std::int32_t>(options.crop);
  const auto shift = [&] {
    return crop > 0 ? static_cast<std::int32_t>(random.below(2 * options.crop + 1)) - crop : 0;
  };
  ImageMove move;
  move.down = shift();
  move.right = shift();
  move.flipped = options.flip && random.below(2) == 1;
  return move;
}

void Augment::apply(std::span<float> image, Random& random) {
  CHECK(task_.shape.size() == 3);
  const auto channels = std::int64_t{task_.shape[0]}, height = std::int64_t{task_.shape[1]},
             width = std::int64_t{task_.shape[2]};
  const auto [down, right, flipped] = draw_move(options_, random);
  before_.assign(image.begin(), image.end());
  auto out = image.begin();
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = down; y < height + down; ++y)
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t x = (flipped ? width - 1 - i : i) + right;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        *out++ = inside ? before_[static_cast<std::size_t>((c * height + y) * width + x)] : 0;
      }
}

}  // namespace tessera
