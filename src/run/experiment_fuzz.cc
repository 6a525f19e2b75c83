// An experiment or a sweep is a file that travels: whatever is in it, reading ends in one or in
// a refusal, and what was accepted is written back as the same.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/check.h"
#include "run/experiment.h"
#include "run/sweep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    // What is empty is left out, and as if it had not been said when it is read again.
    const std::string first = to_toml(parse_experiment(text, "fuzz.toml"));
    const std::string lines = to_toml(parse_experiment(first, "fuzz.toml"));
    CHECK(to_toml(parse_experiment(lines, "fuzz.toml")) == lines);
  } catch (const std::invalid_argument&) {
  }
  try {
    CHECK(parse_sweep(text, "fuzz.toml").size() <= kCellsMax);
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
