// One process at a time in a folder. The holder of its lock may change what is in it; readers need
// none. The lock is a file named `lock` that says who holds it. The system gives it back when the
// process ends, however it ends, so a file that a killed process left keeps none out. On a file
// system without locks every process gets one.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/descriptor.h"

namespace tessera {

class FolderLock {
 public:
  static constexpr std::string_view kName = "lock";

  // Makes the folder where there is none. Throws std::invalid_argument, with its number, where
  // another process holds the lock.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(FolderLock&&) = default;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

  // Throws the same, and touches nothing.
  static void check(const std::filesystem::path& folder);

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace tessera
