#include "data/formats/idx.h"

#include <algorithm>
#include <cstring>

#include "data/formats/gzip.h"

namespace tessera {
namespace {

constexpr std::uint32_t kUnsignedBytes = 0x0800;

std::uint32_t big_endian(ByteSpan four) {
  std::uint32_t value = 0;
  for (const std::byte b : four) value = value << 8 | std::to_integer<std::uint32_t>(b);
  return value;
}

std::string show_extents(std::span<const std::uint32_t> extents) {
  std::string text;
  for (const std::uint32_t extent : extents)
    text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  return text;
}

Error wrong_length(const IdxHeader& header, std::uint64_t bytes) {
  return {"size", fmt::format("the header announces {} values, a file of {} bytes, and it has {}",
                              show_extents(header.extents), header.file_bytes, bytes)};
}

Result<Bytes> unpack(ByteSpan file, unsigned dimensions) {
  const Result<Bytes> head = gunzip_first(file, 4 + 4 * dimensions);
  if (!head) return head.error();
  const Result<IdxHeader> header = parse_idx_header(*head, dimensions);
  if (!header) return header.error();
  if (header->file_bytes > kUnpackedBytesMax)
    return Error{
        "size", fmt::format("the header announces {} values; a gzipped file may unpack to {} bytes "
                            "at most: unpack it yourself if you trust it",
                            show_extents(header->extents), kUnpackedBytesMax)};
  return gunzip(file, header->file_bytes);
}

}  // namespace

Result<IdxHeader> parse_idx_header(ByteSpan bytes, unsigned dimensions) {
  const std::uint32_t wanted = kUnsignedBytes | dimensions;
  const std::uint32_t magic = bytes.size() < 4 ? wanted : big_endian(bytes.first(4));
  if (magic != wanted)
    return Error{"magic", fmt::format("byte 0: the magic number is {:#010x}, not {:#010x} (IDX, "
                                      "unsigned bytes, {} dimension{})",
                                      magic, wanted, dimensions, dimensions == 1 ? "" : "s")};
  if (bytes.size() < 4 + 4 * dimensions)
    return Error{"truncated", fmt::format("byte {}: the file ends inside its {}-byte header",
                                          bytes.size(), 4 + 4 * dimensions)};
  IdxHeader header;
  std::uint64_t values = 1;
  bool overflow = false;
  for (unsigned i = 0; i < dimensions; ++i) {
    header.extents.push_back(big_endian(bytes.subspan(4 + 4 * i, 4)));
    if (header.extents.back() == 0)
      return Error{"empty", fmt::format("byte {}: extent {} of the array is 0", 4 + 4 * i, i)};
    overflow |= __builtin_mul_overflow(values, header.extents.back(), &values);
  }
  // A petabyte is more than any file; sums with such sizes cannot overflow.
  if (overflow || values > (1ull << 50))
    return Error{"size", fmt::format("byte 4: the header announces {} values, more than any file "
                                     "holds",
                                     show_extents(header.extents))};
  header.file_bytes = 4 + 4 * dimensions + values;
  return header;
}

Result<IdxArray> parse_idx(ByteSpan file, unsigned dimensions) {
  Bytes unpacked;
  if (is_gzip(file)) {
    Result<Bytes> whole = unpack(file, dimensions);
    if (!whole) return whole.error();
    unpacked = std::move(*whole);
    file = unpacked;
  }
  Result<IdxHeader> header = parse_idx_header(file, dimensions);
  if (!header) return header.error();
  if (file.size() != header->file_bytes) return wrong_length(*header, file.size());
  const ByteSpan body = file.subspan(4 + 4 * dimensions);
  IdxArray array{std::move(header->extents), std::vector<std::uint8_t>(body.size())};
  std::memcpy(array.values.data(), body.data(), body.size());
  return array;
}

}  // namespace tessera
