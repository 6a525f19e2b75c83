// Whole files in and out. A file is written beside its place and renamed into it, so that a reader,
// or a crash, sees the old one or the new one and never a torn one. What a symbolic link points to
// is replaced, not the link; a pipe, a device or a folder is never replaced.
#pragma once

#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

Result<Bytes> read_file(const std::filesystem::path& path);
Result<std::string> read_text_file(const std::filesystem::path& path);
Result<void> write_file(const std::filesystem::path& path, ByteSpan bytes);

}  // namespace tessera
