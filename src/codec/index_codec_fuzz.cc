// Index decoders on bytes a fuzzer makes up. Two ways in: the payload as it comes, and a payload
// that one of our encoders wrote, damaged in a few places, which gets further.
#include <algorithm>

#include "base/check.h"
#include "codec/gamma.h"
#include "codec/index_codec.h"
#include "codec/rice.h"

namespace tessera {
namespace {

// The rest of the input as increasing numbers: every byte is a gap, those above 200 a long one.
Indices indices_from(ByteReader& in) {
  Indices indices;
  std::uint64_t index = 0;
  while (in.left() > 0) {
    const std::uint32_t gap = in.get<std::uint8_t>();
    index += gap > 200 ? std::uint64_t{1} << (gap % 32) : gap + 1;
    if (index >= 0xffffffff) break;
    indices.push_back(static_cast<std::uint32_t>(index));
  }
  return indices;
}

// Whatever is accepted must be a set, and encode to something that gives it back.
void decode_and_check(const IndexCodec& codec, ByteSpan payload, std::uint32_t dimension,
                      std::size_t count) {
  Indices indices(count);
  if (!codec.decode(payload, dimension, indices).ok()) return;
  const IndexSet set{indices, dimension};
  CHECK(is_valid(set));
  Bytes again;
  codec.encode(set, again);
  CHECK(again.size() == codec.size(set));
  CHECK(again.size() <= codec.bound(static_cast<std::uint32_t>(count), dimension));
  Indices back(count);
  CHECK(codec.decode(again, dimension, back).ok());
  CHECK(back == indices);
}

void compare_with_plain(ByteSpan payload, std::uint32_t dimension, std::size_t count) {
  Indices fast(count), plain(count);
  const bool gamma = decode_gamma(payload, dimension, fast).ok();
  CHECK(gamma == plain::decode_gamma(payload, dimension, plain).ok());
  if (gamma) CHECK(fast == plain);
  const bool rice = decode_rice(payload, dimension, fast).ok();
  CHECK(rice == plain::decode_rice(payload, dimension, plain).ok());
  if (rice) CHECK(fast == plain);
}

void run(ByteReader in) {
  const auto codecs = index_codecs();
  const unsigned choice = in.get<std::uint8_t>();
  const IndexCodec& codec = codecs[choice % codecs.size()];
  const auto dimension = in.get<std::uint32_t>();
  const auto wanted = in.get<std::uint32_t>();
  if (choice < 128) {
    const ByteSpan payload = in.get_bytes(in.left());
    const std::uint64_t most =
        std::min<std::uint64_t>(codec.indices_max(payload.size()), dimension);
    const auto count = static_cast<std::size_t>(wanted % (most + 1));
    decode_and_check(codec, payload, dimension, count);
    compare_with_plain(payload, dimension, std::min<std::size_t>(count, 8 * payload.size()));
    return;
  }
  const auto place = in.get<std::uint16_t>();
  const auto damage = in.get<std::uint8_t>();
  const Indices indices = indices_from(in);
  const std::uint32_t below = indices.empty() ? 1 : indices.back() + 1;
  if (codec.size({indices, below}) > 1 << 16) return;
  Bytes payload;
  codec.encode({indices, below}, payload);
  if (!payload.empty()) payload[place % payload.size()] ^= static_cast<std::byte>(damage);
  decode_and_check(codec, payload, below, indices.size());
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::run(tessera::ByteReader(std::as_bytes(std::span(data, size))));
  return 0;
}
