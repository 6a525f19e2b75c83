// A roster is a file that travels: whatever is in it, parsing ends in a roster or a refusal, and
// what was accepted is written back as the same.
#include "live/roster.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const tessera::Result<tessera::Roster> roster = tessera::Roster::parse(text);
  if (!roster) return 0;
  const tessera::Result<tessera::Roster> again = tessera::Roster::parse(roster->to_toml());
  CHECK(again.ok());
  CHECK(again->to_toml() == roster->to_toml());
  return 0;
}
