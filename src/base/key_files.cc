#include "base/key_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace tessera {
namespace {

Error file_error(const std::filesystem::path& path, std::string_view what) {
  return {"file", fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno))};
}

// Makes a file that was not there, with the given permissions from its first moment.
Result<void> create(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0 && errno == EEXIST)
    return Error{"exists", fmt::format("{} is there already, and a key that is overwritten is "
                                       "lost: move it away, or choose another name",
                                       path.string())};
  if (fd < 0) return file_error(path, "cannot be made");
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const Error error = file_error(path, "cannot be written");
  ::close(fd);
  if (written) return {};
  // What is left of it would stand in the way of the next attempt.
  ::unlink(path.c_str());
  return error;
}

}  // namespace

KeyFiles key_files(const std::filesystem::path& folder, std::string_view name) {
  return {folder / fmt::format("{}.key", name), folder / fmt::format("{}.pub", name)};
}

Result<void> write_key_files(const KeyFiles& files, const KeyPair& keys) {
  if (std::filesystem::exists(files.shared))
    return Error{"exists", fmt::format("{} is there already: move it away, or choose another name",
                                       files.shared.string())};
  if (const Result<void> made = create(files.secret, keys.secret_key + "\n", 0600); !made)
    return made.error();
  if (const Result<void> made = create(files.shared, keys.public_key + "\n", 0644); !made) {
    std::error_code ignored;
    std::filesystem::remove(files.secret, ignored);
    return made.error();
  }
  return {};
}

Result<std::string> read_secret_file(const std::filesystem::path& secret) {
  struct ::stat status {};
  if (::stat(secret.c_str(), &status) != 0) return file_error(secret, "cannot be read");
  if ((status.st_mode & 077) != 0)
    return Error{"mode", fmt::format("{} can be read by others: chmod 600 {}", secret.string(),
                                     secret.string())};
  const Result<std::string> text = read_text_file(secret);
  if (!text) return text.error();
  return std::string(trimmed(*text));
}

}  // namespace tessera
