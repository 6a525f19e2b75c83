#include "data/formats/image_files.h"

#include "base/files.h"
#include "base/threads.h"
#include "data/formats/image.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

Result<void> read_image(const fs::path& path, const ImageForm& form,
                        std::span<std::uint8_t> planes) {
  const Result<Bytes> bytes = read_file(path);
  if (!bytes) return bytes.error();
  Result<Image> image = decode_image(*bytes, form.channels);
  if (!image) return in_file(path, image.error());
  if (image->height != form.height || image->width != form.width) {
    if (!form.resize)
      return Error{
          "size", fmt::format("{}: {} x {} pixels, not {} x {}; resize=yes would scale it",
                              path.string(), image->width, image->height, form.width, form.height)};
    *image = resized(*image, form.height, form.width);
  }
  copy_planes(*image, planes);
  return {};
}

}  // namespace

Result<std::vector<std::uint8_t>> read_images(std::span<const fs::path> paths,
                                              const ImageForm& form) {
  const std::size_t each = std::size_t{form.channels} * form.height * form.width;
  std::vector<std::uint8_t> pixels(paths.size() * each);
  std::vector<Result<void>> read(paths.size());
  Workers workers(0);
  workers.for_each(paths.size(), [&](std::size_t i) {
    read[i] = read_image(paths[i], form, std::span(pixels).subspan(i * each, each));
  });
  for (const Result<void>& one : read)
    if (!one) return one.error();
  return pixels;
}

}  // namespace tessera
