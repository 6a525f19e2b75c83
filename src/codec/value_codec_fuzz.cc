// Value decoders on bytes a fuzzer makes up. Two ways in: the payload as it comes, and a payload
// that one of our encoders wrote, damaged in a few places, which gets past zstd's and fpzip's first
// checks.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/ids.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

constexpr std::size_t kValuesMax = 1 << 16;  // Enough for two blocks of zstd; keeps inputs quick.

// Lossless rows must give back what they accepted once more.
void decode_and_check(const ValueCodec& codec, ByteSpan payload, std::size_t count) {
  Vector values(count);
  if (!codec.decode(payload, values).ok() || !codec.lossless) return;
  Bytes again;
  codec.encode(values, Random(1), again);
  CHECK(again.size() <= codec.bound(count));
  Vector back(count);
  CHECK(codec.decode(again, back).ok());
  if (count > 0) CHECK(std::memcmp(back.data(), values.data(), count * sizeof(float)) == 0);
}

// The rest of the input as floats, repeated so that there is something to compress.
Vector values_from(ByteReader& in, std::size_t repeats) {
  Vector values;
  while (in.left() >= sizeof(float)) values.push_back(in.get<float>());
  const std::size_t period = values.size();
  for (std::size_t i = 0; i < period * repeats && values.size() < kValuesMax; ++i)
    values.push_back(values[i]);
  return values;
}

void run(ByteReader in) {
  const auto codecs = value_codecs();
  const unsigned choice = in.get<std::uint8_t>();
  const ValueCodec& codec = codecs[choice % codecs.size()];
  const auto wanted = in.get<std::uint32_t>();
  if (choice < 128) {
    const ByteSpan payload = in.get_bytes(in.left());
    const std::uint64_t most =
        std::min<std::uint64_t>(codec.values_max(payload.size()), kValuesMax);
    decode_and_check(codec, payload, static_cast<std::size_t>(wanted % (most + 1)));
    return;
  }
  const auto place = in.get<std::uint16_t>();
  const auto damage = in.get<std::uint8_t>();
  const Vector values = values_from(in, wanted % 64);
  Bytes payload;
  codec.encode(values, Random(wanted), payload);
  if (!payload.empty()) payload[place % payload.size()] ^= static_cast<std::byte>(damage);
  decode_and_check(codec, payload, values.size());
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::run(tessera::ByteReader(std::as_bytes(std::span(data, size))));
  return 0;
}
