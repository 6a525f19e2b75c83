#include "data/sets/cifar10.h"

#include <array>

#include "base/files.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;
constexpr std::uint32_t kClasses = 10;

Result<ByteHalf> read_half(const fs::path& dir, std::span<const std::string_view> names,
                           std::size_t records) {
  ByteHalf half;
  for (const std::string_view name : names) {
    const Result<Bytes> bytes = read_file(dir / name);
    if (!bytes) return bytes.error();
    // Once, and only for a file that is there: growing by doubling would take twice the memory.
    if (half.features.empty() && bytes->size() == records * kRecord)
      half.features.reserve(names.size() * records * kPixels);
    if (const Result<void> parsed = parse_cifar10(*bytes, records, half); !parsed)
      return in_file(dir / name, parsed.error());
  }
  return half;
}

Result<DecodedData> decode(const fs::path& dir, std::size_t records, const Normalization& scale) {
  constexpr std::array<std::string_view, 5> kTrain = {"data_batch_1.bin", "data_batch_2.bin",
                                                      "data_batch_3.bin", "data_batch_4.bin",
                                                      "data_batch_5.bin"};
  constexpr std::array<std::string_view, 1> kTest = {"test_batch.bin"};
  if (const Result<void> there = require_folder(dir, "scripts/get_data.sh cifar10 fetches it");
      !there)
    return there.error();
  Result<ByteHalf> train = read_half(dir, kTrain, records);
  if (!train) return train.error();
  Result<ByteHalf> test = read_half(dir, kTest, records);
  if (!test) return test.error();
  DecodedData data = image_data("cifar10", {.shape = {3, 32, 32}, .classes = kClasses},
                                std::move(*train), std::move(*test), scale);
  data.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                      "dog",      "frog",       "horse", "ship", "truck"};
  return data;
}

}  // namespace

Result<void> parse_cifar10(ByteSpan file, std::size_t records, ByteHalf& half) {
  if (file.size() != records * kRecord)
    return Error{file.size() < records * kRecord ? "truncated" : "size",
                 fmt::format("{} bytes; {} records of {} bytes are {}", file.size(), records,
                             kRecord, records * kRecord)};
  for (std::size_t i = 0; i < records; ++i) {
    const auto* record = reinterpret_cast<const std::uint8_t*>(file.data()) + i * kRecord;
    if (record[0] >= kClasses)
      return Error{"label", fmt::format("label {} of record {} (byte {}) is not below {}",
                                        record[0], i, i * kRecord, kClasses)};
    half.targets.push_back(record[0]);
    half.features.insert(half.features.end(), record + 1, record + kRecord);
  }
  return {};
}

DataSource cifar10_source(Options& options) {
  const fs::path dir = options.text("dir", "data/cifar-10-batches-bin");
  const auto records =
      static_cast<std::size_t>(options.integer("records", 10'000, between(1, 1'000'000)));
  const Normalization scale = scale_option(options, "signed");
  options.done();
  return {{dir}, [=] { return decode(dir, records, scale); }};
}

}  // namespace tessera
