// What a guest says and what it is answered: whatever the bytes are, decoding ends in a knock, an
// answer or a refusal, and what was accepted is written back as the same bytes.
#include "live/link/knocks.h"

#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const ByteSpan frame(reinterpret_cast<const std::byte*>(data), size);
  const Bytes bytes(frame.begin(), frame.end());
  const Result<Knock> knock = decode_knock(frame);
  if (knock.ok()) CHECK(encode_knock(*knock) == bytes);
  const Result<KnockAnswer> answer = decode_knock_answer(frame);
  if (answer.ok()) CHECK(encode_knock_answer(*answer) == bytes);
  return 0;
}
