#include "data/sets/leaf_sets.h"

#include <array>
#include <cmath>

#include "data/formats/image_files.h"
#include "data/loading.h"
#include "data/sets/leaf_halves.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The order of TensorFlow Federated's text tutorial, with six more at the end; models trained by
// the reference number characters this way.
constexpr std::string_view kVocabulary =
    "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"
    "{{}}<>";
static_assert(kVocabulary.size() == kShakespeareVocabulary);

constexpr std::size_t kWindow = 80;
constexpr std::size_t kFemnistSide = 28;
constexpr std::uint32_t kFemnistClasses = 62;
constexpr std::uint32_t kCelebaSide = 84;
constexpr std::uint32_t kUnknown = 255;

constexpr auto kTokens = [] {
  std::array<std::uint8_t, 256> tokens{};
  tokens.fill(kUnknown);
  for (std::size_t i = 0; i < kVocabulary.size(); ++i)
    tokens[static_cast<unsigned char>(kVocabulary[i])] = static_cast<std::uint8_t>(i);
  return tokens;
}();

// LEAF divides the scanned grey levels by 255; the byte is what was there before, so nothing is
// lost by going back.
Result<void> append_writer(const LeafUser& user, ByteHalf& half) {
  constexpr std::size_t kFemnistPixels = kFemnistSide * kFemnistSide;
  if (user.width != kFemnistPixels)
    return Error{"format", fmt::format("{}: x has {} numbers, not {} pixels", leaf_place(user, 0),
                                       user.width, kFemnistPixels)};
  for (std::size_t i = 0; i < user.numbers.size(); ++i) {
    const float pixel = user.numbers[i];
    if (!(pixel >= 0 && pixel <= 1))
      return Error{"range",
                   fmt::format("{}, pixel {}: {} is not in [0, 1]",
                               leaf_place(user, i / kFemnistPixels), i % kFemnistPixels, pixel)};
    half.features.push_back(static_cast<std::uint8_t>(std::lround(pixel * 255)));
  }
  return append_labels(user, kFemnistClasses, half);
}

Result<std::uint8_t> token_at(const LeafUser& user, std::size_t sample, std::string_view text,
                              std::size_t i) {
  const std::optional<std::uint8_t> token = shakespeare_token(text[i]);
  if (token) return *token;
  return Error{"character",
               fmt::format("{}, character {}: byte {:#04x} is not in the vocabulary",
                           leaf_place(user, sample), i, static_cast<unsigned char>(text[i]))};
}

Result<void> append_role(const LeafUser& user, ByteHalf& half) {
  if (user.texts.size() != user.samples() || user.label_texts.size() != user.samples())
    return Error{"format", fmt::format("user '{}': x and y are not texts", printable(user.name))};
  for (std::size_t i = 0; i < user.texts.size(); ++i) {
    const std::string& text = user.texts[i];
    const std::string& next = user.label_texts[i];
    if (text.size() != kWindow || next.size() != 1)
      return Error{"format", fmt::format("{}: {} characters and {} to follow, not {} and 1",
                                         leaf_place(user, i), text.size(), next.size(), kWindow)};
    for (std::size_t c = 0; c < kWindow; ++c) {
      const Result<std::uint8_t> token = token_at(user, i, text, c);
      if (!token) return token.error();
      half.features.push_back(*token);
    }
    const Result<std::uint8_t> target = token_at(user, i, next, 0);
    if (!target) return target.error();
    half.targets.push_back(*target);
  }
  return {};
}

// A name out of a file must stay inside the folder of images.
Result<fs::path> image_path(const LeafUser& user, std::size_t i, const fs::path& images) {
  const std::string& name = user.texts[i];
  const bool plain = !name.empty() && name.find('/') == std::string::npos &&
                     name.find('\0') == std::string::npos && name != "." && name != "..";
  if (!plain)
    return Error{"format", fmt::format("{}: '{}' is not a file's name", leaf_place(user, i),
                                       printable(name))};
  std::error_code error;
  const fs::path path = images / name;
  if (fs::exists(path, error)) return path;
  // The Python reference had the images converted and looks for these.
  const fs::path png = fs::path(path).replace_extension(".png");
  if (fs::exists(png, error)) return png;
  return Error{"file", fmt::format("{}: {} is missing", leaf_place(user, i), path.string())};
}

// Only notes where a person's images are; they are decoded afterwards, all cores at once.
Result<void> append_person(const LeafUser& user, const fs::path& images,
                           std::vector<fs::path>& paths, ByteHalf& half) {
  if (user.texts.empty())
    return Error{"format",
                 fmt::format("user '{}': x are not names of images", printable(user.name))};
  for (std::size_t i = 0; i < user.texts.size(); ++i) {
    Result<fs::path> path = image_path(user, i, images);
    if (!path) return path.error();
    paths.push_back(std::move(*path));
  }
  return append_labels(user, 2, half);
}

Result<DecodedData> decode_femnist(const fs::path& dir, const Normalization& scale) {
  Result<LeafHalves> halves = read_leaf(dir, append_writer);
  if (!halves) return halves.error();
  return image_data("femnist",
                    {.shape = {1, kFemnistSide, kFemnistSide}, .classes = kFemnistClasses},
                    std::move(halves->train), std::move(halves->test), scale);
}

Result<DecodedData> decode_shakespeare(const fs::path& dir) {
  Result<LeafHalves> halves = read_leaf(dir, append_role);
  if (!halves) return halves.error();
  return image_data("shakespeare",
                    {.kind = Task::Kind::kTokens,
                     .shape = {kWindow},
                     .classes = kShakespeareVocabulary,
                     .vocabulary = kShakespeareVocabulary},
                    std::move(halves->train), std::move(halves->test), {});
}

Result<DecodedData> decode_celeba(const fs::path& dir, const fs::path& images,
                                  const ImageForm& form, const Normalization& scale) {
  if (const Result<void> there = require_folder(images, "images= names the folder of images");
      !there)
    return there.error();
  std::vector<fs::path> paths;
  Result<LeafHalves> halves = read_leaf(dir, [&](const LeafUser& user, ByteHalf& half) {
    return append_person(user, images, paths, half);
  });
  if (!halves) return halves.error();
  // read_leaf finishes one half before it begins the other, so the paths are in their order.
  const std::size_t train_size = halves->train.targets.size();
  for (ByteHalf* half : {&halves->train, &halves->test}) {
    const std::span<const fs::path> own = half == &halves->train
                                              ? std::span(paths).first(train_size)
                                              : std::span(paths).subspan(train_size);
    Result<std::vector<std::uint8_t>> pixels = read_images(own, form);
    if (!pixels) return pixels.error();
    half->features = std::move(*pixels);
  }
  DecodedData data = image_data("celeba", {.shape = {3, kCelebaSide, kCelebaSide}, .classes = 2},
                                std::move(halves->train), std::move(halves->test), scale);
  data.class_names = {"serious", "smiling"};
  return data;
}

}  // namespace

std::optional<std::uint8_t> shakespeare_token(char character) {
  const std::uint8_t token = kTokens[static_cast<unsigned char>(character)];
  return token == kUnknown ? std::nullopt : std::optional(token);
}

DataSource femnist_source(Options& options) {
  const fs::path dir = options.text("dir", "data/femnist");
  const Normalization scale = scale_option(options, "unit");
  options.done();
  return {{dir}, [=] { return decode_femnist(dir, scale); }};
}

DataSource shakespeare_source(Options& options) {
  const fs::path dir = options.text("dir", "data/shakespeare");
  options.done();
  return {{dir}, [=] { return decode_shakespeare(dir); }};
}

DataSource celeba_source(Options& options) {
  const fs::path dir = options.text("dir", "data/celeba");
  const fs::path images = options.text("images", (dir / "raw" / "img_align_celeba").string());
  const ImageForm form{.channels = 3,
                       .height = kCelebaSide,
                       .width = kCelebaSide,
                       .resize = options.yes("resize", false)};
  const Normalization scale = scale_option(options, "raw");
  options.done();
  return {{dir, images}, [=] { return decode_celeba(dir, images, form, scale); }};
}

}  // namespace tessera
