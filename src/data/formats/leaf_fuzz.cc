// Any text as a LEAF file. Whatever is accepted must be consistent: as many x as y.
#include "base/check.h"
#include "data/formats/leaf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto sink = [](const tessera::LeafUser& user) -> tessera::Result<void> {
    CHECK(user.samples() > 0);
    const std::size_t rows = user.width ? user.numbers.size() / user.width : 0;
    CHECK(rows + user.texts.size() == user.samples());
    std::size_t width = user.extents.empty() ? 0 : 1;
    for (const std::uint32_t extent : user.extents) width *= extent;
    CHECK(width == user.width);
    CHECK(user.numbers.size() == rows * width);
    return {};
  };
  (void)tessera::parse_leaf(std::as_bytes(std::span(data, size)), sink).ok();
  return 0;
}
