#include "data/own_samples.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "base/random.h"
#include "data/loading.h"

namespace tessera {
namespace {

constexpr std::size_t kClassesMax = 10'000;
constexpr std::uint32_t kExtentMax = 1'000'000;

bool is_whole(std::string_view name) {
  const std::string_view digits = name.substr(name.starts_with('-'));
  return !digits.empty() && digits.size() < 10 &&
         digits.find_first_not_of("0123456789") == digits.npos;
}

// As numbers where all of them are whole ones, so that 10 comes after 9.
std::vector<std::string> classes_of(std::span<const std::string> labels) {
  const std::set<std::string> distinct(labels.begin(), labels.end());
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  if (std::all_of(classes.begin(), classes.end(), is_whole))
    std::sort(classes.begin(), classes.end(), [](const std::string& a, const std::string& b) {
      return std::stol(a) != std::stol(b) ? std::stol(a) < std::stol(b) : a < b;
    });
  return classes;
}

std::vector<std::string> read_classes(Options& options) {
  std::vector<std::string> classes = options.words("classes", {});
  if (classes.size() != 1) return classes;
  if (!is_whole(classes[0]) || std::stol(classes[0]) < 2)
    options.refuse("classes", "there are at least two, as in no/yes or 10");
  const long count = std::stol(classes[0]);
  if (count > static_cast<long>(kClassesMax))
    options.refuse("classes", fmt::format("there are {} at most", kClassesMax));
  classes.clear();
  for (long i = 0; i < count; ++i) classes.push_back(std::to_string(i));
  return classes;
}

// The number of each label's class.
Result<std::vector<float>> targets_of(const OwnSamples& samples,
                                      std::span<const std::string> classes) {
  std::unordered_map<std::string_view, float> numbers;
  for (std::size_t i = 0; i < classes.size(); ++i)
    numbers.try_emplace(classes[i], static_cast<float>(i));
  std::vector<float> targets;
  targets.reserve(samples.labels.size());
  for (const std::string& label : samples.labels) {
    const auto found = numbers.find(label);
    if (found == numbers.end())
      return in_file(samples.place,
                     {"class", fmt::format("there is no class '{}' in {}", printable(label),
                                           printable(fmt::format("{}", fmt::join(classes, "/"))))});
    targets.push_back(found->second);
  }
  return targets;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from, std::size_t i, std::size_t width) {
  if (from.empty()) return;
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(i * width);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
}

// Moves what is held out into the samples returned.
OwnSamples split_off(OwnSamples& all, const std::vector<bool>& held_out) {
  OwnSamples rest{.place = all.place, .width = all.width}, test = rest;
  for (std::size_t i = 0; i < all.labels.size(); ++i) {
    OwnSamples& into = held_out[i] ? test : rest;
    append(into.bytes, all.bytes, i, all.width);
    append(into.floats, all.floats, i, all.width);
    append(into.users, all.users, i, 1);
    into.labels.push_back(std::move(all.labels[i]));
  }
  all = std::move(rest);
  return test;
}

Result<void> require_sound(const OwnSamples& samples, const Task& task) {
  const std::size_t width = task.features();
  if (samples.width != width)
    return Error{"shape",
                 fmt::format("{}: {} numbers in a sample, and {} in {}", samples.place.string(),
                             samples.width, width, fmt::join(task.shape, "/"))};
  const std::size_t numbers = samples.bytes.size() + samples.floats.size();
  if (numbers != width * samples.labels.size())
    return Error{"count",
                 fmt::format("{}: {} samples and {} classes of samples", samples.place.string(),
                             numbers / width, samples.labels.size())};
  return {};
}

Result<DecodedHalf> decoded(OwnSamples samples, std::span<const std::string> classes) {
  Result<std::vector<float>> targets = targets_of(samples, classes);
  if (!targets) return targets.error();
  return DecodedHalf{.bytes = std::move(samples.bytes),
                     .floats = std::move(samples.floats),
                     .targets = std::move(*targets),
                     .users = std::move(samples.users)};
}

template <typename T>
void move_channels(std::vector<T>& values, std::size_t channels, std::size_t pixels) {
  std::vector<T> sample(channels * pixels);
  for (std::size_t begin = 0; begin < values.size(); begin += sample.size()) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), sample.size(), sample.begin());
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < pixels; ++p)
        values[begin + c * pixels + p] = sample[p * channels + c];
  }
}

// Colours, with or without transparency, or one grey: what the channels of an image can be.
bool may_be_channels(std::uint32_t extent) {
  return extent == 1 || extent == 3 || extent == 4;
}

using Channels = OwnOptions::Channels;

Result<SampleForm> form_of_images(std::span<const std::uint32_t> extents, Channels channels,
                                  const std::vector<std::uint32_t>& stated) {
  const std::vector<std::uint32_t> first(extents.begin(), extents.end());
  const std::vector<std::uint32_t> last{extents[2], extents[0], extents[1]};
  bool is_first = may_be_channels(extents[0]), is_last = may_be_channels(extents[2]);
  if (!stated.empty()) {
    is_last = last == stated;
    is_first = first == stated || !is_last;
  }
  if (channels != Channels::kGuessed) {
    is_first = channels == Channels::kFirst;
    is_last = !is_first;
  }
  if (is_first == is_last)
    return Error{"shape", fmt::format("samples of {}: write channels=first or channels=last",
                                      fmt::join(extents, " x "))};
  return SampleForm{is_first ? first : last, is_last};
}

}  // namespace

OwnOptions own_options(Options& options) {
  OwnOptions read{.classes = read_classes(options), .test = hold_out_option(options)};
  for (const double extent : options.numbers("shape", {}, between(1, kExtentMax)))
    read.shape.push_back(static_cast<std::uint32_t>(extent));
  if (!read.shape.empty() && read.shape.size() != 3)
    options.refuse("shape", "write channels/height/width");
  read.seed = static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0)));
  return read;
}

OwnOptions own_options_of_arrays(Options& options) {
  constexpr std::array<std::string_view, 3> kWords = {"auto", "first", "last"};
  OwnOptions read = own_options(options);
  const std::string channels = options.choice("channels", kWords, "auto");
  if (channels == "first") read.channels = Channels::kFirst;
  if (channels == "last") read.channels = Channels::kLast;
  return read;
}

Result<SampleForm> form_of(std::span<const std::uint32_t> extents, const OwnOptions& wanted) {
  const bool fits = extents.size() <= 3 && std::ranges::all_of(extents, [](std::uint32_t extent) {
                      return extent > 0 && extent <= kExtentMax;
                    });
  if (!fits)
    return Error{"shape", fmt::format("samples of {} numbers; they have up to three extents of 1 "
                                      "to {}",
                                      fmt::join(extents, " x "), kExtentMax)};
  SampleForm form{.shape = {1, 1, 1}};
  if (extents.size() == 3) {
    Result<SampleForm> images = form_of_images(extents, wanted.channels, wanted.shape);
    if (!images) return images.error();
    form = std::move(*images);
  } else {
    std::copy_backward(extents.begin(), extents.end(), form.shape.end());
  }
  if (wanted.shape.empty() || wanted.shape == form.shape) return form;
  const Task own{.shape = form.shape}, stated{.shape = wanted.shape};
  if (own.features() != stated.features() || form.channels_last)
    return Error{"shape", fmt::format("{} numbers in a sample ({}), and shape={} has {}",
                                      own.features(), fmt::join(own.shape, "/"),
                                      fmt::join(stated.shape, "/"), stated.features())};
  form.shape = wanted.shape;
  return form;
}

void channels_first(OwnSamples& samples, const SampleForm& form) {
  if (!form.channels_last) return;
  const std::size_t pixels = std::size_t{form.shape[1]} * form.shape[2];
  move_channels(samples.bytes, form.shape[0], pixels);
  move_channels(samples.floats, form.shape[0], pixels);
}

Result<DecodedData> own_set(std::string name, std::vector<std::uint32_t> shape,
                            const OwnOptions& wanted, OwnSamples train,
                            std::optional<OwnSamples> test) {
  std::vector<std::string> classes =
      wanted.classes.empty() ? classes_of(train.labels) : wanted.classes;
  if (classes.size() < 2 || classes.size() > kClassesMax)
    return Error{"class", fmt::format("{}: {} classes; there are 2 to {}. Is the column or array "
                                      "of classes the right one?",
                                      train.place.string(), classes.size(), kClassesMax)};
  const Task task{.shape = std::move(shape), .classes = static_cast<std::uint32_t>(classes.size())};
  if (const Result<void> sound = require_sound(train, task); !sound) return sound.error();
  if (test) {
    if (const Result<void> sound = require_sound(*test, task); !sound) return sound.error();
  } else {
    test = split_off(train, draw_held_out(train.labels.size(), wanted.test.fraction,
                                          Random(wanted.seed).fork(name)));
  }
  Result<DecodedHalf> train_half = decoded(std::move(train), classes);
  if (!train_half) return train_half.error();
  Result<DecodedHalf> test_half = decoded(std::move(*test), classes);
  if (!test_half) return test_half.error();
  return DecodedData{.name = std::move(name),
                     .task = task,
                     .train = std::move(*train_half),
                     .test = std::move(*test_half),
                     .class_names = std::move(classes)};
}

}  // namespace tessera
