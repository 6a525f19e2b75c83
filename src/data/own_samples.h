// What the sets that people bring themselves have in common: samples whose classes are words, a
// test half that is held out or lies elsewhere, and the options that say so.
//
//   classes=no/yes   the classes and their order, or how many there are, 0 to that; without it they
//                    are what the training samples have, sorted
//   test=0.2         a fraction to hold out, which seed=1 draws; or where test samples lie
//   shape=3/8/8      what a sample is, where its numbers lie in a row
//   channels=last    for samples of three extents: which of them the channels are
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/spec.h"
#include "data/decoded.h"
#include "data/hold_out.h"

namespace tessera {

struct OwnOptions {
  std::vector<std::string> classes{};  // Empty: as the samples say.
  HoldOut test{};
  std::uint64_t seed = 1;
  std::vector<std::uint32_t> shape{};  // Empty: as the samples say.
  enum class Channels { kGuessed, kFirst, kLast } channels = Channels::kGuessed;
};

// Reads classes=, test=, seed= and shape=.
OwnOptions own_options(Options& options);
// And channels=, for formats whose samples have extents.
OwnOptions own_options_of_arrays(Options& options);

// Samples as a file has them.
struct OwnSamples {
  std::filesystem::path place{};  // For messages.
  std::size_t width = 0;          // Numbers of a sample.
  // One sample after the other, in one of these two.
  std::vector<std::uint8_t> bytes{};
  std::vector<float> floats{};
  std::vector<std::string> labels{};
  std::vector<std::uint32_t> users{};  // One per sample, or empty.
};

// Channels, height and width of samples whose numbers have these extents, (w), (h, w) or (c, h, w),
// or (h, w, c), which is then brought into order by channels_first().
struct SampleForm {
  std::vector<std::uint32_t> shape{};
  bool channels_last = false;
};
Result<SampleForm> form_of(std::span<const std::uint32_t> extents, const OwnOptions& wanted);
void channels_first(OwnSamples& samples, const SampleForm& form);

// Where no test samples are given a fraction of `train` is held out. Both halves are checked: as
// many numbers as the shape has, and classes that are known.
Result<DecodedData> own_set(std::string name, std::vector<std::uint32_t> shape,
                            const OwnOptions& wanted, OwnSamples train,
                            std::optional<OwnSamples> test);

}  // namespace tessera
