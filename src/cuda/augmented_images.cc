#include "cuda/augmented_images.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::cuda {

AugmentedImages::AugmentedImages(const AugmentOptions& options, const Task& task)
    : options_(options) {
  CHECK(task.shape.size() == 3);
  shape_ = {.height = static_cast<int>(task.shape[1]),
            .width = static_cast<int>(task.shape[2]),
            .channels = static_cast<int>(task.shape[0])};
}

void AugmentedImages::fit(std::size_t drawn, std::size_t together) {
  moves_.fit(drawn);
  device_moves_.fit(drawn);
  images_.fit(together * static_cast<std::size_t>(shape_.height) *
              static_cast<std::size_t>(shape_.width) * static_cast<std::size_t>(shape_.channels));
}

void AugmentedImages::begin(std::size_t drawn) const {
  std::fill_n(moves_.data(), drawn, ImageMove{});
}

void AugmentedImages::draw(std::size_t first, std::size_t count, Random random) const {
  for (std::size_t i = 0; i < count; ++i) moves_[first + i] = draw_move(options_, random);
}

void AugmentedImages::upload(const Stream& stream, std::size_t drawn) const {
  stream.upload(device_moves_.data(), moves_.data(), drawn * sizeof(ImageMove));
}

Rows AugmentedImages::moved(const Pass& pass, const Rows& samples, std::size_t first) const {
  move_images(pass, shape_, samples, device_moves_.data() + first, images_.data());
  return {.data = images_.data(), .width = samples.width};
}

}  // namespace tessera::cuda
