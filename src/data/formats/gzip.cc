#include "data/formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

// What zlib is to expect, in its own code, and what people call it.
struct Form {
  int window_bits = 0;
  std::string_view name{};
};
constexpr Form kGzip{.window_bits = 16 + MAX_WBITS, .name = "gzip"};
constexpr Form kBare{.window_bits = -MAX_WBITS, .name = "deflated"};

constexpr std::size_t kFirstStep = 64 * 1024;

class Inflater {
 public:
  Inflater(ByteSpan packed, Form form) : packed_(packed), form_(form) {
    CHECK(inflateInit2(&stream_, form.window_bits) == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` from the start, and returns how much of it; less than all only at the end.
  Result<std::size_t> read(std::span<std::byte> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !ended_) {
      const Result<std::size_t> got = step(out.subspan(filled));
      if (!got) return got.error();
      filled += *got;
    }
    return filled;
  }

 private:
  Result<std::size_t> step(std::span<std::byte> out) {
    constexpr std::size_t kBytesMax = std::numeric_limits<uInt>::max();
    const ByteSpan in = packed_.subspan(consumed_, std::min(packed_.size() - consumed_, kBytesMax));
    const std::size_t room = std::min(out.size(), kBytesMax);
    // zlib's interface predates const; it does not write to its input.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    consumed_ += in.size() - stream_.avail_in;
    const std::size_t made = room - stream_.avail_out;
    if (status == Z_STREAM_END) return end_member(), made;
    if (status == Z_BUF_ERROR || (status == Z_OK && made == 0 && consumed_ == packed_.size()))
      return Error{"truncated",
                   fmt::format("byte {}: the {} data ends too early", packed_.size(), form_.name)};
    if (status != Z_OK)
      return Error{"gzip", fmt::format("byte {}: broken {} data ({})", consumed_, form_.name,
                                       stream_.msg ? stream_.msg : "no reason given")};
    return made;
  }
  // A gzip file may hold several members, one after the other; whatever else follows is refused as
  // a member without a header.
  void end_member() {
    ended_ = consumed_ == packed_.size();
    CHECK(inflateReset(&stream_) == Z_OK);
  }

  ByteSpan packed_;
  Form form_;
  std::size_t consumed_ = 0;
  bool ended_ = false;
  z_stream stream_{};
};

// Up to `count` bytes.
Result<Bytes> inflate_up_to(ByteSpan packed, std::size_t count, Form form) {
  Inflater inflater(packed, form);
  Bytes out;
  std::size_t step = kFirstStep;
  while (out.size() < count) {
    const std::size_t before = out.size();
    out.resize(before + std::min(step, count - before));
    const Result<std::size_t> got = inflater.read(std::span(out).subspan(before));
    if (!got) return got.error();
    const bool ended = before + *got < out.size();
    out.resize(before + *got);
    if (ended) break;
    step = out.size();
  }
  return out;
}

// One byte more than allowed tells "exactly that many" from "too many".
Result<Bytes> inflate_all(ByteSpan packed, std::size_t bytes_max, Form form) {
  Result<Bytes> out = inflate_up_to(packed, bytes_max + 1, form);
  if (out.ok() && out->size() > bytes_max)
    return Error{"size", fmt::format("unpacks to more than {} bytes", bytes_max)};
  return out;
}

}  // namespace

bool is_gzip(ByteSpan bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<Bytes> gunzip(ByteSpan packed, std::size_t bytes_max) {
  return inflate_all(packed, bytes_max, kGzip);
}

Result<Bytes> gunzip_first(ByteSpan packed, std::size_t count) {
  return inflate_up_to(packed, count, kGzip);
}

Result<Bytes> inflate_deflated(ByteSpan packed, std::size_t bytes_max) {
  return inflate_all(packed, bytes_max, kBare);
}

}  // namespace tessera
