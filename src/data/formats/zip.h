// Files out of a ZIP archive in memory, stored or deflated, as NumPy's .npz has them. What comes
// out of one is bounded, memory grows only with what really comes out, and its checksum must hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

struct ZipEntry {
  std::string name{};
  std::uint16_t flags = 0, method = 0;
  std::uint32_t checksum = 0;  // CRC-32 of what comes out.
  std::uint32_t packed_bytes = 0, bytes = 0;
  std::uint32_t begin = 0;  // Of its own header in the archive.
};

bool is_zip(ByteSpan bytes);

// What the archive's directory says, which nothing has been compared with.
Result<std::vector<ZipEntry>> list_zip(ByteSpan archive);

// A stored file lies in the archive; a deflated one is unpacked into `room`.
Result<ByteSpan> open_zipped(ByteSpan archive, const ZipEntry& entry, Bytes& room);

}  // namespace tessera
