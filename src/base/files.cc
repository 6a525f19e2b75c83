#include "base/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/file_writing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStreamBytesMax = 64 << 20;

// How much may be read: all of a file, which has an end, and a bounded part of a pipe or a device,
// which may have none.
std::size_t readable_bytes(const struct stat& status, std::size_t bytes_max) {
  return S_ISREG(status.st_mode) ? bytes_max : std::min(bytes_max, kStreamBytesMax);
}

Error too_long(const fs::path& path, std::size_t bytes_max) {
  return {"size", fmt::format("{}: is longer than {} bytes", path.string(), bytes_max)};
}

template <typename Buffer>
Result<Buffer> read_to_end(int fd, const fs::path& path, std::size_t bytes_guess,
                           std::size_t bytes_max) {
  Buffer buffer;
  buffer.resize(bytes_guess);
  std::size_t filled = 0;
  for (;;) {
    if (filled > bytes_max) return too_long(path, bytes_max);
    if (filled == buffer.size()) buffer.resize(filled + 4096);
    const ssize_t got = ::read(fd, buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, "cannot read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  buffer.resize(filled);
  return buffer;
}

template <typename Buffer>
Result<Buffer> read_whole(const fs::path& path, std::size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return file_error(path, "cannot open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error(path, "cannot stat");
  if (S_ISDIR(status.st_mode)) return Error{"file", path.string() + ": is a folder, not a file"};
  bytes_max = readable_bytes(status, bytes_max);
  if (std::cmp_greater(status.st_size, bytes_max)) return too_long(path, bytes_max);
  try {
    // The size is a first guess only: pipes have none and files can grow. One more shows the end.
    return read_to_end<Buffer>(file.get(), path, static_cast<std::size_t>(status.st_size) + 1,
                               bytes_max);
  } catch (const std::exception&) {  // bad_alloc, or length_error for what no vector can hold.
    return Error{"size", fmt::format("{}: {} bytes are more than fit into memory", path.string(),
                                     status.st_size)};
  }
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
  if (!place) return place;
  const fs::path folder = place->parent_path();
  if (!folder.empty() && fs::status(folder, error).type() == fs::file_type::not_found)
    return Error{"file", fmt::format("{0}: the folder {1} does not exist; make it: mkdir -p {1}",
                                     path.string(), folder.string())};
  return place;
}

// A name beside it that nobody can have prepared a link at.
fs::path name_beside(fs::path place) {
  std::uint64_t number = 0;
  CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return place += fmt::format(".part{}-{:016x}", ::getpid(), number);
}

// Without this a crash of the machine may leave the new name on an empty file.
bool write_and_sync(int fd, std::initializer_list<ByteSpan> parts) {
  for (const ByteSpan part : parts)
    if (!write_all(fd, part)) return false;
  return ::fsync(fd) == 0;
}

// And without this it may leave the old name. File systems that cannot say so have no need to.
bool sync_folder(const fs::path& folder) {
  const Descriptor opened(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !opened.is_open() || ::fsync(opened.get()) == 0 || errno == EINVAL;
}

Result<void> replace_file(const fs::path& path, std::initializer_list<ByteSpan> parts,
                          mode_t mode) {
  const Result<fs::path> place = place_to_write(path);
  if (!place) return place.error();
  const fs::path beside = name_beside(*place);
  const auto failed = [&](const char* what) {
    const Error error = file_error(path, what);
    ::unlink(beside.c_str());
    return error;
  };
  {
    const Descriptor file(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file.is_open()) return file_error(path, "cannot create");
    if (!write_and_sync(file.get(), parts)) return failed("cannot write");
  }
  if (::rename(beside.c_str(), place->c_str()) != 0) return failed("cannot replace");
  if (!sync_folder(place->parent_path())) return file_error(path, "cannot write its folder");
  return {};
}

}  // namespace

bool write_all(int fd, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

Result<Bytes> read_file(const fs::path& path, std::size_t bytes_max) {
  return read_whole<Bytes>(path, bytes_max);
}

Result<std::string> read_text_file(const fs::path& path, std::size_t bytes_max) {
  return read_whole<std::string>(path, bytes_max);
}

Result<void> write_file(const fs::path& path, ByteSpan bytes) {
  return replace_file(path, {bytes}, 0644);
}

Result<void> write_private_file(const fs::path& path, std::initializer_list<ByteSpan> parts) {
  return replace_file(path, parts, 0600);
}

}  // namespace tessera
