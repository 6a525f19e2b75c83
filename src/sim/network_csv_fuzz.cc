// A table made by anybody, a trace or a matrix, is read or refused with the line that is wrong.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/matrix.h"
#include "sim/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::uint32_t kNodes = 5;
  if (const Result<Trace> trace = parse_trace(text, kNodes)) {
    Instant last{};
    for (const TraceChange& change : *trace) {
      CHECK(change.at >= last);
      CHECK(change.node < kNodes);
      CHECK(change.up.value_or(1) > 0);
      CHECK(change.speed.value_or(1) > 0);
      last = change.at;
    }
  } else {
    CHECK(trace.error().message.starts_with("line "));
  }
  for (const bool both_ways : {true, false}) {
    const Result<PathMatrix> matrix = PathMatrix::parse(text, both_ways);
    if (!matrix) {
      CHECK(matrix.error().message.starts_with("line "));
      continue;
    }
    for (std::size_t from = 0; from < matrix->places().size(); ++from)
      for (std::size_t to = 0; to < matrix->places().size(); ++to) {
        CHECK(matrix->path(from, to).rate > 0);
        CHECK(matrix->path(from, to).latency >= Duration::zero());
        if (both_ways) CHECK(matrix->path(from, to) == matrix->path(to, from));
      }
  }
  return 0;
}
