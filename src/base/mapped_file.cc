#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file_writing.h"

namespace tessera {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return Error{"missing", path.string() + ": is not there"};
  if (!file.is_open()) return file_error(path, "cannot open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error(path, "cannot stat");
  if (!S_ISREG(status.st_mode)) return Error{"file", path.string() + ": is no regular file"};
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{"owner", path.string() + ": others may write to it"};
  if (status.st_size == 0) return Error{"size", path.string() + ": is empty"};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const place = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (place == MAP_FAILED) return file_error(path, "cannot map");
  return std::make_shared<const MappedFile>(std::span(static_cast<std::byte*>(place), size));
}

void MappedFile::put_away(ByteSpan part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(part.data() - mapped_.data());
  const std::size_t begin = (offset + page - 1) / page * page,
                    end = (offset + part.size()) / page * page;
  if (begin < end) ::madvise(mapped_.data() + begin, end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  ::munmap(mapped_.data(), mapped_.size());
}

}  // namespace tessera
