// A line of another's metrics.jsonl: it is a row, or refused.
#include "report/metrics.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const Result<NodeRow> row = parse_node_row({reinterpret_cast<const char*>(data), size});
  if (row.ok()) (void)to_json_line(row_of(std::span(&*row, 1)));
  return 0;
}
