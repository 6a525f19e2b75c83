// The files of who is invited and who has knocked: whatever is in them, reading ends in a list or a
// refusal, and what was accepted is written back as the same list.
#include "live/guest_list.h"

#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto guests = parse_guests(text); guests.ok())
    CHECK(*parse_guests(to_text(*guests)) == *guests);
  if (const auto knockers = parse_knockers(text); knockers.ok())
    CHECK(*parse_knockers(to_text(*knockers)) == *knockers);
  return 0;
}
