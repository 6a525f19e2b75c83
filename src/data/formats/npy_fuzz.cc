// Any bytes as an array, and behind a magic number and a length that would otherwise stop nearly
// everything. Whatever is accepted has as many numbers as its extents say.
#include "base/check.h"
#include "data/formats/npy.h"

namespace {

void parse(tessera::ByteSpan file) {
  if (const auto array = tessera::parse_npy(file); array.ok()) {
    std::uint64_t values = 1;
    for (const std::uint32_t extent : array->extents) values *= extent;
    CHECK(array->bytes.size() + array->floats.size() == values);
  }
  if (const auto words = tessera::parse_npy_words(file); words.ok())
    for (const std::string& word : *words) CHECK(!word.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  parse(bytes);
  if (size < 1) return 0;
  Bytes file;
  ByteWriter writer(file);
  writer.put_bytes(bytes_of(std::string_view("\x93NUMPY\x01\x00", 8)));
  writer.put(static_cast<std::uint16_t>(data[0]));  // A header as long as the first byte says.
  writer.put_bytes(bytes.subspan(1));
  parse(file);
  return 0;
}
