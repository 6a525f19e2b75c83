// Any text in alphabets of each kind: what comes out are numbers that are in it.
#include "base/check.h"
#include "data/sets/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  for (const std::optional<Alphabet>& alphabet :
       {named_alphabet("bytes"), named_alphabet("ascii"), named_alphabet("shakespeare"),
        Alphabet::of(text.substr(0, cut))}) {
    if (!alphabet) continue;
    CHECK((alphabet->size() >= 2 && alphabet->size() <= 256));
    for (const bool leave_out : {false, true}) {
      const Result<std::vector<std::uint8_t>> numbers = alphabet->numbers_of(text, leave_out);
      if (!numbers) continue;
      CHECK((leave_out || numbers->size() == text.size()));
      for (const std::uint8_t number : *numbers) CHECK(number < alphabet->size());
    }
  }
  return 0;
}
