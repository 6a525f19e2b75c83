#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Closes the descriptor whichever way its owner leaves.
struct Descriptor {
  int fd = -1;
  Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error file_error(const fs::path& path, const char* what) {
  return {"file", fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno))};
}

template <typename Buffer>
Result<Buffer> read_whole(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return file_error(path, "cannot open");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return file_error(path, "cannot stat");
  if (S_ISDIR(status.st_mode)) return Error{"file", path.string() + ": is a folder, not a file"};
  Buffer buffer;
  buffer.resize(static_cast<std::size_t>(status.st_size));
  // The size is a first guess only: pipes have none and files can grow.
  std::size_t filled = 0;
  for (;;) {
    if (filled == buffer.size()) buffer.resize(filled + 4096);
    const ssize_t got = ::read(file.fd, buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, "cannot read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  buffer.resize(filled);
  return buffer;
}

bool write_all(int fd, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

// The file that a chain of symbolic links ends at, whether or not it is there yet.
Result<fs::path> end_of_links(const fs::path& link) {
  constexpr int kLinksMax = 40;  // As the kernel has it.
  fs::path path = link;
  for (int links = 0; links < kLinksMax; ++links) {
    std::error_code error;
    // /dev/stdout leads to whatever file the shell has open, perhaps to append to it.
    if (path.native().starts_with("/proc/"))
      return Error{"file", link.string() + ": is an open file of a process; name the file itself"};
    if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return Error{"file", link.string() + ": its symbolic links do not end at a file"};
}

// Only a regular file may be replaced, and only in a folder that is there.
Result<fs::path> place_to_write(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return Error{"file", path.string() + ": is a folder, not a file"};
  if (fs::exists(status) && !fs::is_regular_file(status))
    return Error{"file", path.string() +
                             ": is a pipe or a device, which a file cannot replace; choose another "
                             "name"};
  Result<fs::path> place = end_of_links(path);
  if (!place.ok()) return place;
  const fs::path folder = place->parent_path();
  if (!folder.empty() && fs::status(folder, error).type() == fs::file_type::not_found)
    return Error{"file", fmt::format("{0}: the folder {1} does not exist; make it: mkdir -p {1}",
                                     path.string(), folder.string())};
  return place;
}

}  // namespace

Result<Bytes> read_file(const fs::path& path) {
  return read_whole<Bytes>(path);
}

Result<std::string> read_text_file(const fs::path& path) {
  return read_whole<std::string>(path);
}

Result<void> write_file(const fs::path& path, ByteSpan bytes) {
  const Result<fs::path> place = place_to_write(path);
  if (!place.ok()) return place.error();
  fs::path beside = *place;
  beside += fmt::format(".part{}", ::getpid());
  {
    const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.fd < 0) return file_error(path, "cannot create");
    // Without the fsync a crash of the machine may leave the new name on an empty file.
    if (!write_all(file.fd, bytes) || ::fsync(file.fd) != 0) {
      const Error error = file_error(path, "cannot write");
      ::unlink(beside.c_str());
      return error;
    }
  }
  if (::rename(beside.c_str(), place->c_str()) != 0) {
    const Error error = file_error(path, "cannot replace");
    ::unlink(beside.c_str());
    return error;
  }
  return {};
}

}  // namespace tessera
