// A whole file as memory, to read. Processes that map one file share its pages. To replace it,
// another is renamed into its place, which leaves the pages mapped here as they are; a file that is
// cut in place would take them away, so only a file is mapped that its owner alone, who is
// also ours, may write to.
#pragma once

#include <filesystem>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

class MappedFile {
 public:
  // The error of a file that is not there is of kind "missing".
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  explicit MappedFile(std::span<std::byte> mapped) : mapped_(mapped) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  ByteSpan bytes() const { return mapped_; }
  // The pages of a part need not be in memory any more. Who reads it all the same waits for them.
  void put_away(ByteSpan part) const;

 private:
  std::span<std::byte> mapped_;
};

}  // namespace tessera
