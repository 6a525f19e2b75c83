#include "data/formats/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "data/formats/gzip.h"
#include "data/loading.h"

namespace tessera {
namespace {

// Signatures, and how long a record is without its names and comments (PKWARE's APPNOTE, 4.3).
constexpr std::uint32_t kFile = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kFileBytes = 30, kEndBytes = 22;
constexpr std::size_t kCommentMax = 65'535;
constexpr std::uint16_t kStored = 0, kDeflated = 8;
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint32_t kElsewhere = 0xffffffff;  // In a field of ZIP64.

Error broken(std::size_t byte, std::string_view why) {
  return {"zip", fmt::format("byte {}: {}", byte, why)};
}

Error too_large() {
  return {"zip", "an archive of 4 GiB or more (ZIP64); save its arrays as .npy files"};
}

struct Directory {
  std::size_t entries = 0, begin = 0, bytes = 0;
};

// The last record stands before a comment that says its own length, which must end the archive.
Result<Directory> find_directory(ByteSpan archive) {
  if (archive.size() >= kEndBytes) {
    const std::size_t last = archive.size() - kEndBytes;
    const std::size_t first = last - std::min(last, kCommentMax);
    for (std::size_t at = last + 1; at-- > first;) {
      ByteReader reader(archive.subspan(at));
      if (reader.get<std::uint32_t>() != kEnd) continue;
      (void)reader.get_bytes(6);  // Which of several disks.
      Directory found{.entries = reader.get<std::uint16_t>()};
      found.bytes = reader.get<std::uint32_t>();
      found.begin = reader.get<std::uint32_t>();
      if (reader.get<std::uint16_t>() != reader.left()) continue;
      if (found.begin == kElsewhere || found.bytes == kElsewhere) return too_large();
      if (found.begin > at || found.bytes > at - found.begin)
        return broken(at, "the archive's directory lies outside of it");
      return found;
    }
  }
  return Error{"truncated",
               fmt::format("byte {}: the archive ends without its directory", archive.size())};
}

// Of the file's own header only its length counts: NumPy leaves the sizes there for later.
Result<ByteSpan> packed(ByteSpan archive, const ZipEntry& entry) {
  const std::size_t begin = entry.begin;
  if (archive.size() < kFileBytes || begin > archive.size() - kFileBytes)
    return broken(begin, "there is no file where the directory says");
  ByteReader reader(archive.subspan(begin));
  if (reader.get<std::uint32_t>() != kFile)
    return broken(begin, "there is no file where the directory says");
  (void)reader.get_bytes(22);
  const std::size_t name = reader.get<std::uint16_t>(), extra = reader.get<std::uint16_t>();
  (void)reader.get_bytes(name + extra);
  const ByteSpan bytes = reader.get_bytes(entry.packed_bytes);
  if (reader.ran_short())
    return Error{"truncated", fmt::format("byte {}: the archive ends inside '{}'", archive.size(),
                                          printable(entry.name))};
  return bytes;
}

std::uint32_t checksum(ByteSpan bytes) {
  uLong sum = crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const ByteSpan part = bytes.first(std::min<std::size_t>(bytes.size(), 1u << 30));
    sum = crc32(sum, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    bytes = bytes.subspan(part.size());
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

bool is_zip(ByteSpan bytes) {
  return ByteReader(bytes).get<std::uint32_t>() == kFile;
}

Result<std::vector<ZipEntry>> list_zip(ByteSpan archive) {
  const Result<Directory> directory = find_directory(archive);
  if (!directory) return directory.error();
  ByteReader reader(archive.subspan(directory->begin, directory->bytes));
  std::vector<ZipEntry> entries;
  for (std::size_t i = 0; i < directory->entries; ++i) {
    const std::size_t at = directory->begin + directory->bytes - reader.left();
    if (reader.get<std::uint32_t>() != kDirectory)
      return broken(at, "an entry of the archive's directory is not one");
    (void)reader.get_bytes(4);  // Versions.
    ZipEntry entry{.flags = reader.get<std::uint16_t>()};
    entry.method = reader.get<std::uint16_t>();
    (void)reader.get_bytes(4);  // Time and date.
    entry.checksum = reader.get<std::uint32_t>();
    entry.packed_bytes = reader.get<std::uint32_t>();
    entry.bytes = reader.get<std::uint32_t>();
    const std::size_t name = reader.get<std::uint16_t>(), extra = reader.get<std::uint16_t>(),
                      comment = reader.get<std::uint16_t>();
    (void)reader.get_bytes(8);  // Its disk and attributes.
    entry.begin = reader.get<std::uint32_t>();
    const ByteSpan text = reader.get_bytes(name);
    (void)reader.get_bytes(extra + comment);
    if (reader.ran_short()) return broken(at, "the archive's directory ends too early");
    if (entry.bytes == kElsewhere || entry.begin == kElsewhere) return too_large();
    entry.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<ByteSpan> open_zipped(ByteSpan archive, const ZipEntry& entry, Bytes& room) {
  const std::string name = printable(entry.name);
  if (entry.flags & kEncrypted)
    return Error{"zip", fmt::format("'{}' is encrypted; save it without a password", name)};
  if (entry.method != kStored && entry.method != kDeflated)
    return Error{"zip", fmt::format("'{}' is packed by method {}; stored and deflated are read",
                                    name, entry.method)};
  if (entry.method == kDeflated && entry.bytes > kUnpackedBytesMax)
    return Error{"size", fmt::format("'{}' unpacks to {} bytes; {} are read at most: save it "
                                     "without compression if you trust it",
                                     name, entry.bytes, kUnpackedBytesMax)};
  const Result<ByteSpan> held = packed(archive, entry);
  if (!held) return held.error();
  ByteSpan bytes = *held;
  if (entry.method == kDeflated) {
    Result<Bytes> unpacked = inflate_deflated(*held, entry.bytes);
    if (!unpacked)
      return Error{unpacked.error().kind, fmt::format("'{}': {}", name, unpacked.error().message)};
    room = std::move(*unpacked);
    bytes = room;
  }
  if (bytes.size() != entry.bytes)
    return Error{"size", fmt::format("'{}' has {} bytes where the directory says {}", name,
                                     bytes.size(), entry.bytes)};
  if (checksum(bytes) != entry.checksum)
    return Error{"checksum", fmt::format("'{}' is damaged: its checksum does not hold", name)};
  return bytes;
}

}  // namespace tessera
