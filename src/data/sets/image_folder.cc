#include "data/sets/image_folder.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/random.h"
#include "data/formats/image.h"
#include "data/formats/image_files.h"
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
  double test = 0;
  std::uint64_t seed = 0;
};

Result<std::vector<std::string>> class_names(const fs::path& folder) {
  const Result<std::vector<fs::path>> folders = folders_in(folder);
  if (!folders) return folders.error();
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

Result<Listing> list(const fs::path& folder, std::span<const std::string> names) {
  Listing listing;
  for (std::size_t c = 0; c < names.size(); ++c) {
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
Result<ImageForm> settle(ImageForm form, const fs::path& first) {
  if (form.height > 0) return form;
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
  read.test = options.number("test", 0.2, between(0.01, 0.9));
  read.seed = static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0)));
  return read;
}

Result<DecodedData> decode(const FolderOptions& wanted, const Normalization& scale) {
  if (const Result<void> there = require_folder(wanted.dir, "dir= names the folder of classes");
      !there)
    return there.error();
  std::error_code error;
  const bool own_split =
      fs::is_directory(wanted.dir / "train", error) && fs::is_directory(wanted.dir / "test", error);
  const fs::path root = own_split ? wanted.dir / "train" : wanted.dir;
  const Result<std::vector<std::string>> names = class_names(root);
  if (!names) return names.error();
  Result<Listing> train = list(root, *names);
  if (!train) return train.error();
  Result<Listing> test =
      own_split ? list(wanted.dir / "test", *names)
                : split_off_test(*train, wanted.test, Random(wanted.seed).fork("images"));
  if (!test) return test.error();
  if (train->paths.empty())
    return Error{"empty",
                 fmt::format("{}: nothing is left to train on; add images", wanted.dir.string())};
  const Result<ImageForm> form = settle(wanted.form, train->paths.front());
  if (!form) return form.error();
  Result<ByteHalf> train_half = read_half(std::move(*train), *form);
  if (!train_half) return train_half.error();
  Result<ByteHalf> test_half = read_half(std::move(*test), *form);
  if (!test_half) return test_half.error();
  DecodedData data = image_data("images",
                                {.shape = {form->channels, form->height, form->width},
                                 .classes = static_cast<std::uint32_t>(names->size())},
                                std::move(*train_half), std::move(*test_half), scale);
  data.class_names = *names;
  return data;
}

}  // namespace

DataSource image_folder_source(Options& options) {
  const FolderOptions wanted = read_options(options);
  const Normalization scale = scale_option(options, "signed");
  options.done();
  return {{wanted.dir}, [=] { return decode(wanted, scale); }};
}

}  // namespace tessera
