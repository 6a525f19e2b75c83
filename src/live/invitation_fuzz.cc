// A token is pasted by hand: whatever it is, reading it ends in an invitation or a refusal, and
// what was accepted is written back as the same line. The input is a token, and also what a token
// with a right checksum would say.
#include "live/invitation.h"

#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

void check_token(const std::string& token) {
  const Result<Invitation> invitation = parse_token(token);
  if (!invitation) return;
  const Result<Invitation> again = parse_token(to_token(*invitation));
  CHECK(again.ok());
  CHECK(*again == *invitation);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  check_token(std::string(reinterpret_cast<const char*>(data), size));
  Bytes bytes(reinterpret_cast<const std::byte*>(data),
              reinterpret_cast<const std::byte*>(data) + size);
  ByteWriter(bytes).put(static_cast<std::uint32_t>(hash_bytes(bytes)));
  check_token("tessera-1-" + to_base64(bytes));
  return 0;
}
