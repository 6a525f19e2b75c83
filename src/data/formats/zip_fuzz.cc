// Any bytes as an archive, whose files are all opened.
#include "base/check.h"
#include "data/formats/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const ByteSpan archive = std::as_bytes(std::span(data, size));
  const Result<std::vector<ZipEntry>> entries = list_zip(archive);
  if (!entries) return 0;
  for (const ZipEntry& entry : *entries) {
    Bytes room;
    const Result<ByteSpan> file = open_zipped(archive, entry, room);
    if (file.ok()) CHECK(file->size() == entry.bytes);
  }
  return 0;
}
