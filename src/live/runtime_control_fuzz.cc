// What a member says besides shares: whatever it is, decoding ends in a message or a refusal, and
// what was accepted is written back as the same bytes.
#include "live/runtime_control.h"

#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tessera::ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  if (!tessera::is_control(bytes)) return 0;
  const tessera::Result<tessera::Control> control = tessera::decode_control(bytes, 8);
  if (control.ok())
    CHECK(*tessera::encode_control(*control) == tessera::Bytes(bytes.begin(), bytes.end()));
  return 0;
}
