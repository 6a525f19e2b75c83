#include "data/formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kFirstStep = 64 * 1024;

class Inflater {
 public:
  explicit Inflater(ByteSpan packed) : packed_(packed) {
    CHECK(inflateInit2(&stream_, kGzipOnly) == Z_OK);
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
                   fmt::format("byte {}: the gzip data ends too early", packed_.size())};
    if (status != Z_OK)
      return Error{"gzip", fmt::format("byte {}: broken gzip data ({})", consumed_,
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
  std::size_t consumed_ = 0;
  bool ended_ = false;
  z_stream stream_{};
};

// Up to `count` bytes.
Result<Bytes> inflate_up_to(ByteSpan packed, std::size_t count) {
  Inflater inflater(packed);
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

}  // namespace

bool is_gzip(ByteSpan bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<Bytes> gunzip(ByteSpan packed, std::size_t bytes_max) {
  // One byte more than allowed tells "exactly that many" from "too many".
  Result<Bytes> out = inflate_up_to(packed, bytes_max + 1);
  if (out.ok() && out->size() > bytes_max)
    return Error{"size", fmt::format("unpacks to more than {} bytes", bytes_max)};
  return out;
}

Result<Bytes> gunzip_first(ByteSpan packed, std::size_t count) {
  return inflate_up_to(packed, count);
}

}  // namespace tessera
