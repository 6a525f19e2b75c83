// Whole messages a fuzzer makes up. Magic, lengths and checksum are put right first, as a forger
// would, so that what is behind them is reached.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"
#include "codec/wire.h"

namespace tessera {
namespace {

template <typename T>
void put_at(Bytes& message, std::size_t offset, T value) {
  std::memcpy(message.data() + offset, &value, sizeof value);
}

template <typename T>
T get_at(const Bytes& message, std::size_t offset) {
  T value{};
  std::memcpy(&value, message.data() + offset, sizeof value);
  return value;
}

// A message accepted once must survive being sent on.
void decode_and_check(const Bytes& message) {
  const auto decoded = decode(message);
  if (!decoded) return;
  const Share& share = decoded->share;
  CHECK(share.values.size() <= share.dimension);
  const Encoded again =
      encode(decoded->heading, share, parse_codec("gamma+f32"), decoded->envelope, Random(1));
  const auto back = decode(again.bytes);
  CHECK(back.ok());
  CHECK(back->heading == decoded->heading);
  CHECK(back->share.coordinates == share.coordinates);
  CHECK(back->share.values.size() == share.values.size());
}

void run(ByteSpan input) {
  Bytes message(input.begin(), input.end());
  decode_and_check(message);
  if (message.size() < kHeaderBytes + kChecksumBytes) return;
  // Up to seven bytes of a protocol's own, of which the header holds two.
  const std::size_t own = std::min<std::size_t>(get_at<std::uint8_t>(message, 9) % 8,
                                                message.size() - kHeaderBytes - kChecksumBytes + 2);
  const std::size_t body = message.size() - kHeaderBytes - kChecksumBytes - (own > 2 ? own - 2 : 0);
  const std::uint64_t coordinate_bytes = get_at<std::uint64_t>(message, 48) % (body + 1);
  put_at(message, 0, std::uint32_t{0x41525354});
  put_at(message, 4, std::uint16_t{0x0102});
  put_at(message, 9, static_cast<std::uint8_t>(own));
  if (own < 2) put_at(message, 11, std::uint8_t{0});
  if (own < 1) put_at(message, 10, std::uint8_t{0});
  put_at(message, 48, coordinate_bytes);
  put_at(message, 56, std::uint64_t{body} - coordinate_bytes);
  // Half of the inputs get numbers small enough for the rest to be plausible.
  if (get_at<std::uint8_t>(message, 12) % 2 == 0) {
    put_at(message, 40, get_at<std::uint32_t>(message, 40) % 4096);
    put_at(message, 44, get_at<std::uint32_t>(message, 44) % 64);
  }
  put_at(message, message.size() - kChecksumBytes,
         hash_bytes(ByteSpan(message).first(message.size() - kChecksumBytes)));
  decode_and_check(message);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::run(std::as_bytes(std::span(data, size)));
  return 0;
}
