#include "data/sets/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/random.h"
#include "data/formats/image.h"
#include "data/formats/image_files.h"
#include "data/hold_out.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct Listing {
  std::vector<fs::path> paths{};
  std::vector<float> classes{};
};

struct FolderOptions {
  fs::path dir{};
  ImageForm form{};
  HoldOut test{};
  std::uint64_t seed = 0;
  std::vector<std::string> classes{};  // Empty: as the sub-folders say.
};

// Where the classes are given, a folder may have some of them, or none.
Result<void> require_known(std::span<const fs::path> folders, std::span<const std::string> known) {
  for (const fs::path& folder : folders)
    if (std::find(known.begin(), known.end(), folder.filename().string()) == known.end())
      return Error{"class", fmt::format("{}: there is no such class in classes={}", folder.string(),
                                        fmt::join(known, "/"))};
  return {};
}

Result<std::vector<std::string>> class_names(const fs::path& folder,
                                             const std::vector<std::string>& given) {
  const Result<std::vector<fs::path>> folders = folders_in(folder);
  if (!folders) return folders.error();
  if (!given.empty()) {
    if (const Result<void> known = require_known(*folders, given); !known) return known.error();
    return given;
  }
  if (folders->size() < 2)
    return Error{"empty",
                 fmt::format("{}: {} sub-folder{}; images lie in one per class, and there "
                             "are at least two",
                             folder.string(), folders->size(), folders->size() == 1 ? "" : "s")};
  std::vector<std::string> names;
  for (const fs::path& path : *folders) names.push_back(path.filename().string());
  return names;
}

Result<std::vector<fs::path>> images_in(const fs::path& folder) {
  constexpr std::array<std::string_view, 3> kEndings = {".jpg", ".jpeg", ".png"};
  Result<std::vector<fs::path>> files = files_in(folder, kEndings);
  if (files && files->empty())
    return Error{"empty",
                 fmt::format("{}: there are no .jpg, .jpeg or .png files", folder.string())};
  return files;
}

Result<Listing> list(const fs::path& folder, std::span<const std::string> names,
                     bool may_be_missing) {
  Listing listing;
  std::error_code error;
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (may_be_missing && !fs::is_directory(folder / names[c], error)) continue;
    const Result<std::vector<fs::path>> images = images_in(folder / names[c]);
    if (!images) return images.error();
    listing.paths.insert(listing.paths.end(), images->begin(), images->end());
    listing.classes.resize(listing.paths.size(), static_cast<float>(c));
  }
  return listing;
}

// Moves a share of each class, at least one image of it, into the listing returned.
Listing split_off_test(Listing& train, double share, const Random& random) {
  Listing rest, test;
  for (std::size_t begin = 0, end = 0; begin < train.paths.size(); begin = end) {
    while (end < train.paths.size() && train.classes[end] == train.classes[begin]) ++end;
    const auto count = static_cast<std::uint32_t>(end - begin);
    const auto wanted = static_cast<std::uint32_t>(share * count + 0.5);
    std::vector<bool> chosen(count, false);
    Random draw = random.fork("class", static_cast<std::uint64_t>(train.classes[begin]));
    for (const std::uint32_t i : draw.sample(count, std::clamp(wanted, 1u, count)))
      chosen[i] = true;
    for (std::size_t i = begin; i < end; ++i) {
      Listing& into = chosen[i - begin] ? test : rest;
      into.paths.push_back(train.paths[i]);
      into.classes.push_back(train.classes[i]);
    }
  }
  train = std::move(rest);
  return test;
}

// Without a size asked for, the first image decides.
Result<ImageForm> settle(ImageForm form, const fs::path& dir, std::span<const fs::path> images) {
  if (form.height > 0) return form;
  if (images.empty())
    return Error{"empty", fmt::format("{}: without an image there must be size=", dir.string())};
  const fs::path& first = images.front();
  const Result<Bytes> bytes = read_file(first);
  if (!bytes) return bytes.error();
  const Result<Image> image = decode_image(*bytes, form.channels);
  if (!image) return in_file(first, image.error());
  form.height = image->height;
  form.width = image->width;
  return form;
}

Result<ByteHalf> read_half(Listing listing, const ImageForm& form) {
  Result<std::vector<std::uint8_t>> pixels = read_images(listing.paths, form);
  if (!pixels) return pixels.error();
  return ByteHalf{.features = std::move(*pixels), .targets = std::move(listing.classes)};
}

FolderOptions read_options(Options& options) {
  FolderOptions read{.dir = options.text("dir")};
  const auto side = [](double value) { return static_cast<std::uint32_t>(value); };
  const std::vector<double> size = options.numbers("size", {0}, between(0, 4096));
  if (size.size() > 2) options.refuse("size", "write one number, or height/width");
  read.form = {
      .channels = static_cast<std::uint32_t>(options.integer("channels", 3, between(1, 3))),
      .height = side(size.front()),
      .width = side(size.back()),
      .resize = options.yes("resize", false)};
  if (read.form.channels == 2) options.refuse("channels", "images have 1 (grey) or 3 (colour)");
  if (options.has("size") && read.form.height * read.form.width == 0)
    options.refuse("size", "an image has at least one pixel");
  read.test = hold_out_option(options);
  read.classes = options.words("classes", {});
  if (read.classes.size() == 1) options.refuse("classes", "there are at least two, as in cat/dog");
  read.seed = static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0)));
  return read;
}

struct Listings {
  std::vector<std::string> classes{};
  Listing train{}, test{};
};

Result<Listings> find_images(const FolderOptions& wanted) {
  std::error_code error;
  const bool own_split =
      fs::is_directory(wanted.dir / "train", error) && fs::is_directory(wanted.dir / "test", error);
  const fs::path root = own_split ? wanted.dir / "train" : wanted.dir;
  const bool may_be_missing = !wanted.classes.empty();
  Result<std::vector<std::string>> names = class_names(root, wanted.classes);
  if (!names) return names.error();
  Result<Listing> train = list(root, *names, may_be_missing);
  if (!train) return train.error();
  const fs::path test_dir = wanted.test.path.empty() ? wanted.dir / "test" : wanted.test.path;
  Result<Listing> test =
      own_split || !wanted.test.path.empty()
          ? list(test_dir, *names, may_be_missing)
          : split_off_test(*train, wanted.test.fraction, Random(wanted.seed).fork("images"));
  if (!test) return test.error();
  return Listings{std::move(*names), std::move(*train), std::move(*test)};
}

Result<DecodedData> decode(const FolderOptions& wanted, const Normalization& scale) {
  if (const Result<void> there = require_folder(wanted.dir, "dir= names the folder of classes");
      !there)
    return there.error();
  Result<Listings> found = find_images(wanted);
  if (!found) return found.error();
  auto& [names, train, test] = *found;
  if (train.paths.empty() && wanted.classes.empty())
    return Error{"empty",
                 fmt::format("{}: nothing is left to train on; add images", wanted.dir.string())};
  const Result<ImageForm> form = settle(wanted.form, wanted.dir, train.paths);
  if (!form) return form.error();
  Result<ByteHalf> train_half = read_half(std::move(train), *form);
  if (!train_half) return train_half.error();
  Result<ByteHalf> test_half = read_half(std::move(test), *form);
  if (!test_half) return test_half.error();
  DecodedData data = image_data("images",
                                {.shape = {form->channels, form->height, form->width},
                                 .classes = static_cast<std::uint32_t>(names.size())},
                                std::move(*train_half), std::move(*test_half), scale);
  data.class_names = std::move(names);
  return data;
}

}  // namespace

DataSource image_folder_source(Options& options) {
  const FolderOptions wanted = read_options(options);
  const Normalization scale = scale_option(options, "signed");
  options.done();
  std::vector<fs::path> folders{wanted.dir};
  if (!wanted.test.path.empty()) folders.push_back(wanted.test.path);
  return {std::move(folders), [=] { return decode(wanted, scale); }};
}

}  // namespace tessera
