#include "learn/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/spec.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"auto", "reference", "stacked"};
constexpr std::array<std::string_view, 2> kConvolutions = {"direct", "winograd"};
// As DeviceOptions::Precision lists them.
constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "3xtf32", "tf32", "3xf16"};
constexpr std::array<std::string_view, 2> kCpuPrecisions = {"fp32", "bf16"};

}  // namespace

std::string_view to_string(DeviceOptions::Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

DeviceOptions parse_device(std::string_view spec) {
  Options options(parse_spec(spec));
  DeviceOptions device;
  device.cuda = options.name() == "cuda";
  if (!device.cuda && options.name() != "cpu")
    throw std::invalid_argument(
        fmt::format("device: there is no '{}'. Known: cpu, cuda", options.name()));
  if (device.cuda) {
    device.mode = DeviceOptions::Mode::kStacked;
    device.index = static_cast<int>(options.integer("index", 0, between(0, 1023)));
    device.deterministic = options.yes("deterministic", false);
    const std::string precision = options.choice("precision", kPrecisions, "3xf16");
    const auto found = std::find(kPrecisions.begin(), kPrecisions.end(), precision);
    device.precision = static_cast<DeviceOptions::Precision>(found - kPrecisions.begin());
  } else {
    const std::string mode = options.choice("mode", kModes, "auto");
    if (mode == "reference") device.mode = DeviceOptions::Mode::kReference;
    if (mode == "stacked") device.mode = DeviceOptions::Mode::kStacked;
    device.kernels.winograd = options.choice("convolution", kConvolutions, "direct") == "winograd";
    device.kernels.bf16 = options.choice("precision", kCpuPrecisions, "fp32") == "bf16";
    if (device.kernels.bf16 && mode != "auto")
      options.refuse("precision", fmt::format("mode={} works in float32: leave bf16 out", mode));
  }
  device.chunk = static_cast<std::size_t>(options.integer("chunk", 0, between(0, 1e6)));
  device.memory_bytes = options.size_bytes("memory", 0);
  options.done();
  return device;
}

}  // namespace tessera
