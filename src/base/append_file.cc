#include "base/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "base/file_writing.h"

namespace tessera {

AppendFile::AppendFile(std::filesystem::path path, Descriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

Result<AppendFile> AppendFile::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open()) return file_error(path, "cannot open");
  return AppendFile(path, std::move(file));
}

Result<void> AppendFile::append(std::string_view line) {
  const Result<std::uint64_t> before = size();
  if (!before) return before.error();
  const std::string text = std::string(line) + "\n";
  if (write_all(file_.get(), bytes_of(text))) return {};
  const Error error = file_error(path_, "cannot write");
  (void)!::ftruncate(file_.get(), static_cast<off_t>(*before));
  return error;
}

Result<void> AppendFile::sync() {
  if (::fsync(file_.get()) != 0) return file_error(path_, "cannot write");
  return {};
}

Result<std::uint64_t> AppendFile::size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return file_error(path_, "cannot stat");
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace tessera
