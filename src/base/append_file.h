// A file that grows by whole lines, kept open: a process that has run out of descriptors can still
// write to it. What could not be written whole is taken back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace tessera {

class AppendFile {
 public:
  static Result<AppendFile> open(const std::filesystem::path& path);

  // The line and its end.
  Result<void> append(std::string_view line);
  // After this, a machine that loses its power has the lines all the same.
  Result<void> sync();
  Result<std::uint64_t> size() const;

 private:
  AppendFile(std::filesystem::path path, Descriptor file);

  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace tessera
