#include "cuda/resident_data.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "cuda/pairs.h"

namespace tessera::cuda {
namespace {

// From [channel][pixel] to [pixel][channel].
void turn(std::span<const float> image, std::size_t channels, std::span<float> to) {
  const std::size_t pixels = image.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t p = 0; p < pixels; ++p) to[p * channels + c] = image[c * pixels + p];
}

}  // namespace

ResidentData::ResidentData(const Dataset& dataset, const Task& task, bool as_pairs)
    : width_(task.features()), features_(dataset.size() * width_), targets_(dataset.size()) {
  // In pieces, so that the floats of a large set are never in the host's memory all at once.
  constexpr std::size_t kPiece = 4096;
  const std::size_t channels = task.kind == Task::Kind::kImages ? task.shape[0] : 1;
  Workers workers(0);
  std::vector<float> features(std::min(kPiece, dataset.size()) * width_), targets(dataset.size());
  for (std::size_t start = 0; start < dataset.size(); start += kPiece) {
    const std::size_t count = std::min(kPiece, dataset.size() - start);
    workers.for_each(count, [&](std::size_t i) {
      std::vector<float> image(width_);
      targets[start + i] = dataset.get(start + i, image);
      turn(image, channels, std::span(features).subspan(i * width_, width_));
    });
    upload_now(features_.data() + start * width_, features.data(), count * width_ * sizeof(float));
  }
  upload_now(targets_.data(), targets.data(), targets.size() * sizeof(float));
  if (as_pairs) split_pixels(dataset.size(), channels);
}

std::uint64_t ResidentData::bytes_for(std::uint64_t samples, const Task& task, bool as_pairs) {
  const std::size_t pairs = as_pairs ? task.features() / task.shape[0] * kPixelChannels : 0;
  return sizeof(float) * samples * (task.features() + pairs + 1);
}

void ResidentData::split_pixels(std::size_t images, std::size_t channels) {
  const std::size_t pixels = images * width_ / channels;
  pairs_ = DeviceArray<float>(kPixelChannels * pixels);
  DeviceArray<float> unit(1);
  cuda::split_pixels({.pixels = pixels,
                      .channels = static_cast<int>(channels),
                      .from = features_.data(),
                      .to = pairs_.data(),
                      .unit = unit.data()});
  require(cudaMemcpy(&unit_, unit.data(), sizeof unit_, cudaMemcpyDeviceToHost),
          "splitting the data");
}

}  // namespace tessera::cuda
