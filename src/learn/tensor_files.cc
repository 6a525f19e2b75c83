#include "learn/tensor_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/check.h"

namespace tessera {
namespace {

std::size_t elements(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

void check_sizes(std::span<const NamedTensor> tensors) {
  for (const NamedTensor& tensor : tensors) CHECK(elements(tensor.shape) == tensor.values.size());
}

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      quoted += fmt::format("{}{}", c == '"' || c == '\\' ? "\\" : "", c);
  }
  return quoted + '"';
}

std::string padded(std::string text, std::size_t alignment) {
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  return text;
}

// NumPy's format 1.0: a magic number, the length of a Python dict, the dict, the values. NumPy
// wants the values to begin at a multiple of 64 bytes.
Bytes to_npy(const NamedTensor& tensor) {
  constexpr std::string_view kMagic = "\x93NUMPY\x01";
  constexpr std::size_t kBefore = 10;
  std::string shape;
  for (const std::int64_t extent : tensor.shape) shape += fmt::format("{}, ", extent);
  std::string dict =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
  dict = padded(std::string(kBefore, ' ') + dict + ' ', 64).substr(kBefore);
  dict.back() = '\n';
  Bytes bytes;
  ByteWriter out(bytes);
  out.put_bytes(bytes_of(kMagic));
  out.put(std::uint8_t{0});
  out.put(static_cast<std::uint16_t>(dict.size()));
  out.put_bytes(bytes_of(std::string_view(dict)));
  out.put_bytes(std::as_bytes(tensor.values));
  return bytes;
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0u);
    table[i] = crc;
  }
  return table;
}

// The checksum ZIP wants.
std::uint32_t crc32_of(ByteSpan bytes) {
  static constexpr std::array kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const std::byte b : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<unsigned>(b)) & 255];
  return ~crc;
}

struct ZipEntry {
  std::string name{};
  std::uint32_t crc = 0;
  std::uint32_t bytes = 0;
  std::uint32_t offset = 0;
};

// What an entry's own header and its line in the directory at the end have in common.
void put_entry(ByteWriter& out, const ZipEntry& entry) {
  constexpr std::uint16_t kVersion = 20, kNamesAreUtf8 = 1 << 11, kStored = 0;
  constexpr std::uint16_t kTime = 0, kDate = (1 << 5) | 1;  // The first day ZIP knows, in 1980.
  for (const std::uint16_t field : {kVersion, kNamesAreUtf8, kStored, kTime, kDate}) out.put(field);
  for (const std::uint32_t field : {entry.crc, entry.bytes, entry.bytes}) out.put(field);
  out.put(static_cast<std::uint16_t>(entry.name.size()));
  out.put(std::uint16_t{0});  // Nothing extra.
}

void put_directory(ByteWriter& out, const std::vector<ZipEntry>& entries, std::size_t start,
                   const Bytes& file) {
  for (const ZipEntry& entry : entries) {
    out.put(std::uint32_t{0x02014b50});
    out.put(std::uint16_t{20});  // Made by ZIP 2.0.
    put_entry(out, entry);
    for (int field = 0; field < 3; ++field) out.put(std::uint16_t{0});  // Comment, disk, kind.
    out.put(std::uint32_t{0});                                          // Attributes.
    out.put(entry.offset);
    out.put_bytes(bytes_of(std::string_view(entry.name)));
  }
  const auto size = static_cast<std::uint32_t>(file.size() - start);
  out.put(std::uint32_t{0x06054b50});
  for (int field = 0; field < 2; ++field) out.put(std::uint16_t{0});  // The disks.
  for (int field = 0; field < 2; ++field) out.put(static_cast<std::uint16_t>(entries.size()));
  out.put(size);
  out.put(static_cast<std::uint32_t>(start));
  out.put(std::uint16_t{0});  // No comment.
}

// An upper bound of the archive's size.
std::size_t npz_bytes_max(std::span<const NamedTensor> tensors) {
  constexpr std::size_t kHeadersMax = 512;
  std::size_t bytes = kHeadersMax;
  for (const NamedTensor& tensor : tensors)
    bytes += tensor.values.size_bytes() + 2 * tensor.name.size() + 32 * tensor.shape.size() +
             kHeadersMax;
  return bytes;
}

}  // namespace

Bytes to_safetensors(std::span<const NamedTensor> tensors) {
  check_sizes(tensors);
  // Loaders that serve several frameworks ask whose layout this is.
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::size_t end = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::size_t begin = end;
    end += tensor.values.size_bytes();
    header += fmt::format(R"(,{}:{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})",
                          json_text(tensor.name), fmt::join(tensor.shape, ","), begin, end);
  }
  header = padded(header + '}', 8);
  Bytes bytes;
  bytes.reserve(sizeof(std::uint64_t) + header.size() + end);
  ByteWriter out(bytes);
  out.put(std::uint64_t{header.size()});
  out.put_bytes(bytes_of(std::string_view(header)));
  for (const NamedTensor& tensor : tensors) out.put_bytes(std::as_bytes(tensor.values));
  return bytes;
}

Result<Bytes> to_npz(std::span<const NamedTensor> tensors) {
  check_sizes(tensors);
  constexpr std::size_t kTensorsMax = std::numeric_limits<std::uint16_t>::max() - 1;
  if (npz_bytes_max(tensors) > std::numeric_limits<std::uint32_t>::max() ||
      tensors.size() > kTensorsMax)
    return Error{"size",
                 "npz holds at most 4 GiB and 65534 tensors; safetensors has no such bound"};
  Bytes file;
  file.reserve(npz_bytes_max(tensors));
  ByteWriter out(file);
  std::vector<ZipEntry> entries;
  for (const NamedTensor& tensor : tensors) {
    const Bytes array = to_npy(tensor);
    entries.push_back({.name = fmt::format("{}.npy", tensor.name),
                       .crc = crc32_of(array),
                       .bytes = static_cast<std::uint32_t>(array.size()),
                       .offset = static_cast<std::uint32_t>(file.size())});
    out.put(std::uint32_t{0x04034b50});
    put_entry(out, entries.back());
    out.put_bytes(bytes_of(std::string_view(entries.back().name)));
    out.put_bytes(array);
  }
  put_directory(out, entries, file.size(), file);
  return file;
}

}  // namespace tessera
