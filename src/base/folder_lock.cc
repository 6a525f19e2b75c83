#include "base/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string own_name() {
  std::array<char, 256> host{};
  const bool named = ::gethostname(host.data(), host.size() - 1) == 0;
  return fmt::format("process {}{}{}", ::getpid(), named ? " on " : "", host.data());
}

// What the holder wrote, which it may not have done yet.
std::string holder_of(int file) {
  std::array<char, 300> text{};
  const ssize_t length = ::pread(file, text.data(), text.size() - 1, 0);
  return length > 0 ? std::string(text.data()) : std::string("another process");
}

[[noreturn]] void refuse(const fs::path& folder, int file) {
  throw std::invalid_argument(
      fmt::format("{} is in use by {}; wait until it ends, stop it, or choose another folder",
                  folder.string(), holder_of(file)));
}

[[noreturn]] void refuse(const fs::path& path, const char* what) {
  throw std::invalid_argument(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

// False when another process has it.
bool lock(const Descriptor& file, const fs::path& path) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  if (errno != ENOSYS && errno != EOPNOTSUPP && errno != ENOLCK) refuse(path, "cannot lock");
  return true;
}

// Whoever held it before may have removed the file between our opening and our locking it.
bool is_still_at(const fs::path& path, const Descriptor& file) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(file.get(), &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

Descriptor take(const fs::path& folder, const fs::path& path) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.is_open()) refuse(path, "cannot create");
    if (!lock(file, path)) refuse(folder, file.get());
    if (!is_still_at(path, file)) continue;
    const std::string name = own_name();
    // Only for people: a full disk keeps nobody from holding the lock.
    if (::ftruncate(file.get(), 0) == 0) (void)!::pwrite(file.get(), name.data(), name.size(), 0);
    return file;
  }
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) : path_(folder / kName) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw std::invalid_argument(
        fmt::format("cannot create {}: {}", folder.string(), failed.message()));
  file_ = take(folder, path_);
}

FolderLock::~FolderLock() {
  // Before the lock is given back: the file of whoever comes next stays.
  if (file_.is_open()) ::unlink(path_.c_str());
}

void FolderLock::check(const fs::path& folder) {
  const fs::path path = folder / kName;
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (file.is_open() && !lock(file, path)) refuse(folder, file.get());
}

}  // namespace tessera
