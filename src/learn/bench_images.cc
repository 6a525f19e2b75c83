#include "learn/bench_images.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/stores.h"
#include "data/views.h"

namespace tessera {
namespace {

constexpr std::size_t kPixels = 3 * 32 * 32;

std::shared_ptr<const Dataset> some_images(std::size_t count) {
  std::vector<std::uint8_t> pixels(count * kPixels);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  std::vector<float> targets(count);
  for (std::size_t i = 0; i < count; ++i) targets[i] = static_cast<float>(i % 10);
  return std::make_shared<Normalized>(
      std::make_shared<ByteSamples>(kPixels, std::move(pixels), std::move(targets)),
      Normalization{255, 0.5, 0.5});
}

}  // namespace

LoadedData images_like_cifar(std::size_t train, std::size_t test) {
  LoadedData data;
  data.name = "images";
  data.task = {.kind = Task::Kind::kImages, .shape = {3, 32, 32}, .classes = 10};
  data.train = some_images(train);
  data.test = some_images(test);
  return data;
}

}  // namespace tessera
