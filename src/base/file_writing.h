// What the files of base/ have in common; no other folder includes it.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// With the system's reason, as errno has it.
inline Error file_error(const std::filesystem::path& path, const char* what) {
  return {"file", fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno))};
}

bool write_all(int fd, ByteSpan bytes);

}  // namespace tessera
