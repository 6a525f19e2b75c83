// A roster is a file that travels: whatever is in it, parsing ends in a roster or a refusal, and
// what was accepted is written back as the same. What an owner signed is accepted as such, and the
// same text under another signature is not.
#include "live/roster.h"

#include <cstdint>

#include "live/sign/signing.h"

namespace tessera {
namespace {

void check_signing(Roster roster, const KeyPair& owner) {
  if (!roster.sign(owner)) return;  // Another's, or too long.
  const std::string text = roster.to_toml();
  const Result<Roster> again = parse_signed_roster(text, owner.public_key);
  CHECK(again.ok());
  CHECK(again->check_signature().ok());
  CHECK(again->to_toml() == text);
  std::string forged = text;
  forged.back() ^= 1;
  CHECK(!parse_signed_roster(forged, owner.public_key).ok());
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tessera::KeyPair owner = tessera::make_signing_pair();
  const std::string text(reinterpret_cast<const char*>(data), size);
  CHECK(!tessera::parse_signed_roster(text, owner.public_key).ok());
  const tessera::Result<tessera::Roster> roster = tessera::Roster::parse(text);
  if (!roster) return 0;
  const tessera::Result<tessera::Roster> again = tessera::Roster::parse(roster->to_toml());
  CHECK(again.ok());
  CHECK(again->to_toml() == roster->to_toml());
  tessera::check_signing(*roster, owner);
  return 0;
}
