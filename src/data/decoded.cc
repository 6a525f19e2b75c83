#include "data/decoded.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

std::shared_ptr<const Dataset> samples(std::size_t width, const DecodedHalf& half,
                                       const Normalization& scale) {
  std::shared_ptr<const Dataset> raw;
  if (half.floats.values().empty())
    raw = std::make_shared<ByteSamples>(width, half.bytes, half.targets);
  else
    raw = std::make_shared<FloatSamples>(width, half.floats, half.targets);
  if (scale == Normalization{}) return raw;
  return std::make_shared<Normalized>(std::move(raw), scale);
}

std::vector<std::uint32_t> users_of(const DecodedHalf& half) {
  const std::span<const std::uint32_t> users = half.users.values();
  return {users.begin(), users.end()};
}

bool is_sound(const Normalization& scale) {
  return std::isfinite(scale.mean) && std::isfinite(scale.divisor) && scale.divisor > 0 &&
         std::isfinite(scale.deviation) && scale.deviation > 0;
}

// Three extents of at most a million do not overflow their product.
bool is_sound(const Task& task) {
  constexpr std::uint32_t kExtentMax = 1 << 20;
  constexpr std::size_t kExtents = 3;
  return task.kind <= Task::Kind::kRatings && !task.shape.empty() &&
         task.shape.size() <= kExtents && std::ranges::all_of(task.shape, [](std::uint32_t extent) {
           return extent > 0 && extent <= kExtentMax;
         });
}

bool are_below(std::span<const float> values, std::uint32_t limit) {
  return std::ranges::all_of(values, [&](float value) {
    return value >= 0 && value < static_cast<float>(limit) && value == std::floor(value);
  });
}

bool features_fit(const DecodedHalf& half, const Task& task) {
  const auto bytes = half.bytes.values();
  const auto floats = half.floats.values();
  if (task.kind == Task::Kind::kTokens)
    return floats.empty() &&
           std::ranges::all_of(bytes, [&](std::uint8_t token) { return token < task.vocabulary; });
  if (task.kind == Task::Kind::kImages) return true;
  for (std::size_t i = 0; i + 1 < floats.size(); i += 2)
    if (!are_below(floats.subspan(i, 1), task.users) ||
        !are_below(floats.subspan(i + 1, 1), task.items))
      return false;
  return bytes.empty();
}

bool lengths_agree(const DecodedHalf& half, std::size_t width) {
  const std::size_t samples = half.targets.values().size();
  const std::size_t bytes = half.bytes.values().size(), floats = half.floats.values().size();
  const std::size_t users = half.users.values().size();
  return (bytes == 0 || floats == 0) && (bytes + floats) / width == samples &&
         (bytes + floats) % width == 0 && (users == 0 || users == samples);
}

std::size_t bytes_in(const DecodedHalf& half) {
  return half.bytes.values().size_bytes() + half.floats.values().size_bytes() +
         half.targets.values().size_bytes() + half.users.values().size_bytes();
}

}  // namespace

std::size_t bytes_in(const DecodedData& data) {
  return bytes_in(data.train) + bytes_in(data.test);
}

Result<void> check_sound(const DecodedData& data) {
  const Task& task = data.task;
  if (!is_sound(task) || !is_sound(data.scale))
    return Error{"format", "says of its samples what cannot be"};
  for (const DecodedHalf* const half : {&data.train, &data.test}) {
    if (!lengths_agree(*half, task.features()))
      return Error{"format", "has columns of lengths that do not agree"};
    const bool targets_fit = task.classes == 0 || are_below(half->targets.values(), task.classes);
    if (!targets_fit || !features_fit(*half, task))
      return Error{"range", "has samples that cannot be"};
  }
  return {};
}

LoadedData as_datasets(DecodedData decoded) {
  const std::size_t width = decoded.task.features();
  return {.name = std::move(decoded.name),
          .task = std::move(decoded.task),
          .train = samples(width, decoded.train, decoded.scale),
          .test = samples(width, decoded.test, decoded.scale),
          .train_users = users_of(decoded.train),
          .test_users = users_of(decoded.test),
          .class_names = std::move(decoded.class_names)};
}

}  // namespace tessera
