#include "learn/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/spec.h"
#include "base/text.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"auto", "reference", "stacked"};
constexpr std::array<std::string_view, 3> kConvolutions = {"direct", "winograd", "amx"};
// As DeviceOptions::Precision lists them.
constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "3xtf32", "tf32", "3xf16"};
constexpr std::array<std::string_view, 2> kCpuPrecisions = {"fp32", "bf16"};

constexpr int kGpuMax = 1023;
constexpr std::size_t kGpusMax = 64;

int gpu_in(const Options& options, std::string_view part) {
  int gpu = -1;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), gpu);
  if (error != std::errc{} || end != part.data() + part.size() || gpu < 0 || gpu > kGpuMax)
    options.refuse("index", fmt::format("'{}' is no GPU's number: write 0, 0-3 or 0/2", part));
  return gpu;
}

std::vector<int> gpus_of(Options& options) {
  std::vector<int> gpus;
  const std::string text = options.text("index", "0");
  for (const std::string_view part : split(text, '/')) {
    const std::size_t dash = part.find('-', 1);
    const int first = gpu_in(options, part.substr(0, dash));
    const int last = dash == part.npos ? first : gpu_in(options, part.substr(dash + 1));
    if (last < first)
      options.refuse("index",
                     fmt::format("{0} has its larger end first: write {2}-{1}", part, first, last));
    for (int gpu = first; gpu <= last; ++gpu) gpus.push_back(gpu);
  }
  if (gpus.empty() || gpus.size() > kGpusMax)
    options.refuse("index", fmt::format("{} are {} GPUs: name 1 to {}, as in 0-3 or 0/2", text,
                                        gpus.size(), kGpusMax));
  return gpus;
}

// cuda:0-3 is short for cuda:index=0-3.
std::string in_full(std::string_view spec) {
  constexpr std::string_view kName = "cuda:";
  const bool is_short = spec.starts_with(kName) && spec.size() > kName.size() &&
                        spec[kName.size()] >= '0' && spec[kName.size()] <= '9';
  return is_short ? fmt::format("{}index={}", kName, spec.substr(kName.size())) : std::string(spec);
}

}  // namespace

std::string_view to_string(DeviceOptions::Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

std::string without_place(std::string_view spec) {
  constexpr std::array<std::string_view, 4> kPlace = {"index", "chunk", "memory", "graphs"};
  Spec device = parse_spec(in_full(spec));
  std::erase_if(device.options, [&](const auto& option) {
    return std::find(kPlace.begin(), kPlace.end(), option.first) != kPlace.end();
  });
  return to_string(device);
}

DeviceOptions parse_device(std::string_view spec) {
  Options options(parse_spec(in_full(spec)));
  DeviceOptions device;
  device.cuda = options.name() == "cuda";
  if (!device.cuda && options.name() != "cpu")
    throw std::invalid_argument(
        fmt::format("device: there is no '{}'. Known: cpu, cuda", options.name()));
  if (device.cuda) {
    device.mode = DeviceOptions::Mode::kStacked;
    device.gpus = gpus_of(options);
    device.index = device.gpus.front();
    device.deterministic = options.yes("deterministic", false);
    device.graphs = options.yes("graphs", true);
    const std::string precision = options.choice("precision", kPrecisions, "3xf16");
    const auto found = std::find(kPrecisions.begin(), kPrecisions.end(), precision);
    device.precision = static_cast<DeviceOptions::Precision>(found - kPrecisions.begin());
  } else {
    const std::string mode = options.choice("mode", kModes, "auto");
    if (mode == "reference") device.mode = DeviceOptions::Mode::kReference;
    if (mode == "stacked") device.mode = DeviceOptions::Mode::kStacked;
    const std::string convolution = options.choice("convolution", kConvolutions, "direct");
    device.kernels.winograd = convolution == "winograd";
    device.kernels.amx = convolution == "amx";
    device.kernels.bf16 = options.choice("precision", kCpuPrecisions, "fp32") == "bf16";
    if (device.kernels.bf16 && mode != "auto")
      options.refuse("precision", fmt::format("mode={} works in float32: leave bf16 out", mode));
    if (device.kernels.amx && !device.kernels.bf16)
      options.refuse("convolution", "amx multiplies bf16 alone: add precision=bf16");
  }
  device.chunk = static_cast<std::size_t>(options.integer("chunk", 0, between(0, 1e6)));
  device.memory_bytes = options.size_bytes("memory", 0);
  options.done();
  return device;
}

}  // namespace tessera
