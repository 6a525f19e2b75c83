// For this folder's tests: NumPy's files, as bytes written here.
#pragma once

#include <zlib.h>

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace tessera {

// An array's file, of these values as they lie in memory.
inline Bytes npy(std::string_view type, std::string_view shape, ByteSpan values, int version = 1,
                 std::string_view fortran_order = "False") {
  std::string text = "{'descr': '" + std::string(type) +
                     "', 'fortran_order': " + std::string(fortran_order) +
                     ", 'shape': " + std::string(shape) + ", }";
  text.resize((text.size() + 12) / 64 * 64 + 64 - 13 + 1, ' ');
  text.back() = '\n';
  Bytes file;
  ByteWriter writer(file);
  writer.put_bytes(bytes_of(std::string_view("\x93NUMPY")));
  writer.put(static_cast<std::uint8_t>(version));
  writer.put(std::uint8_t{0});
  if (version == 1)
    writer.put(static_cast<std::uint16_t>(text.size()));
  else
    writer.put(static_cast<std::uint32_t>(text.size()));
  writer.put_bytes(bytes_of(std::string_view(text)));
  writer.put_bytes(values);
  return file;
}

template <typename T>
Bytes npy(std::string_view type, std::string_view shape, const std::vector<T>& values,
          int version = 1, std::string_view fortran_order = "False") {
  return npy(type, shape, std::as_bytes(std::span(values)), version, fortran_order);
}

inline Bytes deflated(ByteSpan plain) {
  z_stream stream{};
  (void)deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, plain.size()) + 64);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  (void)deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A file of an archive, and what is wrong with it.
struct Zipped {
  std::string name{};
  Bytes content{};
  std::uint16_t flags = 0, method = 0;
  std::uint32_t more_bytes = 0;  // Than there are, in the directory.
};

inline Bytes zip_of(const std::vector<Zipped>& files) {
  Bytes archive, directory;
  ByteWriter out(archive), list(directory);
  for (const Zipped& file : files) {
    const auto begin = static_cast<std::uint32_t>(archive.size());
    const Bytes packed = file.method == 8 ? deflated(file.content) : file.content;
    const auto sum =
        static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(file.content.data()),
                                         static_cast<uInt>(file.content.size())));
    const auto head = [&](ByteWriter& to) {
      to.put(file.flags);
      to.put(file.method);
      to.put(std::uint32_t{0});
      to.put(sum);
      to.put(static_cast<std::uint32_t>(packed.size()));
      to.put(static_cast<std::uint32_t>(file.content.size()) + file.more_bytes);
      to.put(static_cast<std::uint16_t>(file.name.size()));
      to.put(std::uint16_t{0});
    };
    out.put(std::uint32_t{0x04034b50});
    out.put(std::uint16_t{20});
    head(out);
    out.put_bytes(bytes_of(std::string_view(file.name)));
    out.put_bytes(packed);
    list.put(std::uint32_t{0x02014b50});
    list.put(std::uint32_t{20});
    head(list);
    list.put(std::uint16_t{0});
    list.put(std::uint64_t{0});
    list.put(begin);
    list.put_bytes(bytes_of(std::string_view(file.name)));
  }
  const auto begin = static_cast<std::uint32_t>(archive.size());
  out.put_bytes(directory);
  out.put(std::uint32_t{0x06054b50});
  out.put(std::uint32_t{0});
  out.put(static_cast<std::uint16_t>(files.size()));
  out.put(static_cast<std::uint16_t>(files.size()));
  out.put(static_cast<std::uint32_t>(directory.size()));
  out.put(begin);
  out.put(std::uint16_t{0});
  return archive;
}

}  // namespace tessera
