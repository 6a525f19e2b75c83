// A member's answer is another's JSON: whatever is in it, reading ends in a status or a refusal,
// and the status can be shown in every form.
#include <cstdint>
#include <vector>

#include "run/live_fleet_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<tessera::FleetNode> nodes = tessera::judge(
      std::vector{tessera::FleetAnswer{.member = {.name = "alice"}, .report = text}});
  const std::string table = tessera::to_text(nodes);
  CHECK(table.find('\x1b') == table.npos);
  CHECK(!tessera::to_json(nodes).empty());
  CHECK(!tessera::to_prometheus(nodes).empty());
  return 0;
}
