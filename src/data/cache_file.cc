#include "data/cache_file.h"

#include <algorithm>
#include <array>

#include "base/archive.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "data/loading.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic = "tessdata";
constexpr std::size_t kPreface = 24;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kColumns = 8;
constexpr std::array<std::byte, kAlignment> kZeros{};

struct ColumnEntry {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  void fields(Archive& archive) { archive(bytes, hash); }
};

struct Head {
  std::uint64_t sources = 0;
  DecodedData data{};  // Without its columns.
  std::array<ColumnEntry, kColumns> columns{};
  void fields(Archive& archive) {
    Task& task = data.task;
    archive(sources, data.name, task.kind, task.shape, task.classes, task.vocabulary, task.users,
            task.items, data.scale.divisor, data.scale.mean, data.scale.deviation, data.class_names,
            columns);
  }
};

std::array<ByteSpan, kColumns> columns_of(const DecodedData& data) {
  std::array<ByteSpan, kColumns> columns;
  std::size_t next = 0;
  for (const DecodedHalf* const half : {&data.train, &data.test}) {
    columns[next++] = bytes_of(half->bytes.values());
    columns[next++] = bytes_of(half->floats.values());
    columns[next++] = bytes_of(half->targets.values());
    columns[next++] = bytes_of(half->users.values());
  }
  return columns;
}

std::size_t padding(std::size_t bytes) {
  return (kAlignment - bytes % kAlignment) % kAlignment;
}

Bytes preface(const Bytes& head) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put_bytes(bytes_of(kMagic));
  writer.put(kCacheVersion);
  writer.put(static_cast<std::uint32_t>(head.size()));
  writer.put(hash_bytes(head));
  CHECK(bytes.size() == kPreface);
  return bytes;
}

Result<Head> read_head(ByteReader& reader) {
  const ByteSpan magic = reader.get_bytes(kMagic.size());
  if (!std::ranges::equal(magic, bytes_of(kMagic))) return Error{"magic", "is no cache of data"};
  if (const auto version = reader.get<std::uint32_t>(); version != kCacheVersion)
    return Error{"version", fmt::format("is of version {}, not {}", version, kCacheVersion)};
  const auto length = reader.get<std::uint32_t>();
  const auto hash = reader.get<std::uint64_t>();
  const ByteSpan bytes = reader.get_bytes(length);
  if (reader.ran_short() || hash_bytes(bytes) != hash)
    return Error{"checksum", "has a broken head"};
  ByteReader in(bytes);
  Archive archive(in);
  Head head;
  archive(head);
  if (!archive.ok() || in.left() != 0) return Error{"format", "has a head that cannot be"};
  return head;
}

// A column nobody has any more is put away, though others of its file are still in use: a live node
// copies its own samples and leaves the rest.
template <typename T>
Column<T> column(ByteSpan bytes, const std::shared_ptr<const MappedFile>& file) {
  const std::shared_ptr<const void> owner(bytes.data(),
                                          [file, bytes](const void*) { file->put_away(bytes); });
  return {std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)), owner};
}

// Every length is compared with what is left of the file before it is used.
Result<void> read_columns(ByteReader& reader, Head& head,
                          const std::shared_ptr<const MappedFile>& file) {
  std::array<ByteSpan, kColumns> columns;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const ByteSpan between = reader.get_bytes(padding(file->bytes().size() - reader.left()));
    columns[i] = reader.get_bytes(head.columns[i].bytes);
    if (reader.ran_short()) return Error{"truncated", "is cut short"};
    const bool zeros = std::ranges::equal(between, ByteSpan(kZeros).first(between.size()));
    if (!zeros || hash_bytes(columns[i]) != head.columns[i].hash)
      return Error{"checksum", fmt::format("is damaged in column {}", i)};
  }
  if (reader.left() != 0) return Error{"size", "is longer than its head says"};
  std::size_t next = 0;
  for (DecodedHalf* const half : {&head.data.train, &head.data.test}) {
    half->bytes = column<std::uint8_t>(columns[next++], file);
    half->floats = column<float>(columns[next++], file);
    half->targets = column<float>(columns[next++], file);
    half->users = column<std::uint32_t>(columns[next++], file);
  }
  return {};
}

}  // namespace

Result<void> write_cache_file(const std::filesystem::path& path, std::uint64_t sources,
                              const DecodedData& data) {
  const std::array<ByteSpan, kColumns> columns = columns_of(data);
  Head head{.sources = sources,
            .data = {.name = data.name,
                     .task = data.task,
                     .scale = data.scale,
                     .class_names = data.class_names}};
  for (std::size_t i = 0; i < kColumns; ++i)
    head.columns[i] = {columns[i].size(), hash_bytes(columns[i])};
  Bytes bytes;
  Archive archive(bytes);
  archive(head);
  const Bytes before = preface(bytes);
  const auto pad = [&](std::size_t length) { return ByteSpan(kZeros).first(padding(length)); };
  const auto [a, b, c, d, e, f, g, h] = columns;
  return write_private_file(
      path,
      {before, bytes, pad(before.size() + bytes.size()), a, pad(a.size()), b, pad(b.size()), c,
       pad(c.size()), d, pad(d.size()), e, pad(e.size()), f, pad(f.size()), g, pad(g.size()), h});
}

Result<DecodedData> read_cache_file(const std::filesystem::path& path, std::uint64_t sources) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file) return file.error();
  ByteReader reader((*file)->bytes());
  Result<Head> head = read_head(reader);
  if (!head) return in_file(path, head.error());
  if (head->sources != sources) return Error{"stale", path.string() + ": is of other sources"};
  if (const Result<void> read = read_columns(reader, *head, *file); !read)
    return in_file(path, read.error());
  if (const Result<void> sound = check_sound(head->data); !sound)
    return in_file(path, sound.error());
  return std::move(head->data);
}

}  // namespace tessera
