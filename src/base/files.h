// Whole files in and out. A file is written beside its place and renamed into it, so that a reader,
// or a crash, sees the old one or the new one and never a torn one. What a symbolic link points to
// is replaced, not the link; a pipe, a device or a folder is never replaced. Of a pipe or a device
// 64 MiB are read at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// A file longer than `bytes_max` is an error.
Result<Bytes> read_file(const std::filesystem::path& path, std::size_t bytes_max = SIZE_MAX);
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::size_t bytes_max = SIZE_MAX);

Result<void> write_file(const std::filesystem::path& path, ByteSpan bytes);
// Of parts one after the other; only its owner may read it.
Result<void> write_private_file(const std::filesystem::path& path,
                                std::initializer_list<ByteSpan> parts);

}  // namespace tessera
