#include "data/sets/idx_sets.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "data/formats/idx.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSideMax = 4096;

struct IdxSet {
  fs::path dir{};
  std::string prefix{};
  std::string_view remedy{};
  std::uint32_t classes = 0;  // 0: one more than the largest label.
  bool transposed = false;
  Normalization scale{};
};

struct Extents {
  std::uint32_t height = 0, width = 0;
  bool operator==(const Extents&) const = default;
};

struct Images {
  Extents extents{};
  ByteHalf half{};
};

// The same file goes by a few names: plain or gzipped, and with a dot where some archives have it.
Result<fs::path> find_file(const IdxSet& set, std::span<const std::string_view> halves,
                           std::string_view what) {
  for (const std::string_view half : halves)
    for (const std::string_view joint : {"-", "."})
      for (const std::string_view end : {"", ".gz"}) {
        const std::string rest = what == "images" ? "idx3-ubyte" : "idx1-ubyte";
        const fs::path path =
            set.dir / fmt::format("{}{}-{}{}{}{}", set.prefix, half, what, joint, rest, end);
        std::error_code error;
        if (fs::exists(path, error)) return path;
      }
  return Error{"file",
               fmt::format("{}: there is no {}{}-{}-idx{}-ubyte[.gz]; {}", set.dir.string(),
                           set.prefix, halves[0], what, what == "images" ? 3 : 1, set.remedy)};
}

struct LocatedArray {
  fs::path path{};
  IdxArray array{};
};

Result<LocatedArray> read_idx(const IdxSet& set, std::span<const std::string_view> halves,
                              std::string_view what) {
  const Result<fs::path> path = find_file(set, halves, what);
  if (!path) return path.error();
  const Result<Bytes> bytes = read_file(*path);
  if (!bytes) return bytes.error();
  Result<IdxArray> array = parse_idx(*bytes, what == "images" ? 3 : 1);
  if (!array) return in_file(*path, array.error());
  return LocatedArray{*path, std::move(*array)};
}

void transpose(Images& images) {
  const auto [height, width] = images.extents;
  std::vector<std::uint8_t> turned(std::size_t{height} * width);
  std::vector<std::uint8_t>& pixels = images.half.features;
  for (std::size_t start = 0; start < pixels.size(); start += turned.size()) {
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        turned[x * height + y] = pixels[start + y * width + x];
    std::copy(turned.begin(), turned.end(), pixels.begin() + static_cast<std::ptrdiff_t>(start));
  }
  images.extents = {width, height};
}

Result<void> check(const LocatedArray& pixels, const LocatedArray& labels, std::uint32_t classes) {
  const std::vector<std::uint32_t>& extents = pixels.array.extents;
  if (extents[0] != labels.array.extents[0])
    return Error{"format",
                 fmt::format("{}: {} images, but {} labels in {}", pixels.path.string(), extents[0],
                             labels.array.extents[0], labels.path.filename().string())};
  if (std::max(extents[1], extents[2]) > kSideMax)
    return Error{"size", fmt::format("{}: byte 8: images of {} x {} pixels; at most {} a side",
                                     pixels.path.string(), extents[1], extents[2], kSideMax)};
  const std::vector<std::uint8_t>& values = labels.array.values;
  for (std::size_t i = 0; classes > 0 && i < values.size(); ++i)
    if (values[i] >= classes)
      return Error{"label", fmt::format("{}: label {} of image {} (byte {}) is not below {}",
                                        labels.path.string(), values[i], i, 8 + i, classes)};
  return {};
}

Result<Images> read_half(const IdxSet& set, std::span<const std::string_view> halves) {
  Result<LocatedArray> pixels = read_idx(set, halves, "images");
  if (!pixels) return pixels.error();
  const Result<LocatedArray> labels = read_idx(set, halves, "labels");
  if (!labels) return labels.error();
  if (const Result<void> fit = check(*pixels, *labels, set.classes); !fit) return fit.error();
  Images images;
  images.extents = {pixels->array.extents[1], pixels->array.extents[2]};
  images.half.features = std::move(pixels->array.values);
  images.half.targets.assign(labels->array.values.begin(), labels->array.values.end());
  if (set.transposed) transpose(images);
  return images;
}

Result<DecodedData> decode(std::string_view name, const IdxSet& set) {
  if (const Result<void> there = require_folder(set.dir, set.remedy); !there) return there.error();
  constexpr std::array<std::string_view, 1> kTrain = {"train"};
  constexpr std::array<std::string_view, 2> kTest = {"t10k", "test"};
  Result<Images> train = read_half(set, kTrain);
  if (!train) return train.error();
  Result<Images> test = read_half(set, kTest);
  if (!test) return test.error();
  const auto [height, width] = train->extents;
  if (test->extents != train->extents)
    return Error{"format", fmt::format("{}: training images are {} x {}, test images {} x {}",
                                       set.dir.string(), height, width, test->extents.height,
                                       test->extents.width)};
  std::uint32_t classes = set.classes;
  for (const std::vector<float>* targets : {&train->half.targets, &test->half.targets})
    for (const float target : *targets)
      if (set.classes == 0) classes = std::max(classes, static_cast<std::uint32_t>(target) + 1);
  return image_data(std::string(name), {.shape = {1, height, width}, .classes = classes},
                    std::move(train->half), std::move(test->half), set.scale);
}

}  // namespace

DataSource mnist_source(Options& options) {
  const IdxSet set{.dir = options.text("dir", "data/mnist"),
                   .remedy = "scripts/get_data.sh mnist fetches it",
                   .classes = 10,
                   .scale = scale_option(options, "unit")};
  options.done();
  return {{set.dir}, [=] { return decode("mnist", set); }};
}

DataSource fashion_mnist_source(Options& options) {
  const IdxSet set{.dir = options.text("dir", "/usr/share/datasets/fashion-mnist"),
                   .remedy = "install the Debian package dataset-fashion-mnist, or give dir=",
                   .classes = 10,
                   .scale = scale_option(options, "unit")};
  options.done();
  return {{set.dir}, [=] {
            Result<DecodedData> data = decode("fashion-mnist", set);
            if (data)
              data->class_names = {"t-shirt", "trouser", "pullover", "dress", "coat",
                                   "sandal",  "shirt",   "sneaker",  "bag",   "boot"};
            return data;
          }};
}

DataSource emnist_source(Options& options) {
  constexpr std::array<std::string_view, 6> kSplits = {"balanced", "byclass", "bymerge",
                                                       "digits",   "letters", "mnist"};
  const std::string split = options.choice("split", kSplits, "balanced");
  const IdxSet set{.dir = options.text("dir", "data/emnist"),
                   .prefix = "emnist-" + split + "-",
                   .remedy = "unpack EMNIST's gzip.zip there, or give dir=",
                   .transposed = true,
                   .scale = scale_option(options, "unit")};
  options.done();
  return {{set.dir}, [=] { return decode("emnist", set); }};
}

DataSource idx_source(Options& options) {
  const IdxSet set{
      .dir = options.text("dir"),
      .prefix = options.text("prefix", ""),
      .remedy = "give dir= and prefix= of the four IDX files",
      .classes = static_cast<std::uint32_t>(options.integer("classes", 0, between(0, 256))),
      .transposed = options.yes("transposed", false),
      .scale = scale_option(options, "unit")};
  options.done();
  return {{set.dir}, [=] { return decode("idx", set); }};
}

}  // namespace tessera
