#include "base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace tessera {
namespace {

int first_error = 0;  // Of standard output.
bool is_silent = false;

void remember(bool written) {
  if (!written && first_error == 0) first_error = errno;
}

}  // namespace

void prepare_output() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // The lowest free number is the one that is given out; open for reading only, it takes no output.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

void silence_output(bool silent) {
  is_silent = silent;
}

void put_out(std::string_view text) {
  if (is_silent) return;
  remember(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void put_err(std::string_view text) {
  if (is_silent) return;
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void flush_out() {
  remember(std::fflush(stdout) == 0);
}

Result<void> finish_output() {
  flush_out();
  if (first_error == 0 && std::ferror(stdout) == 0) return {};
  const char* reason = first_error == 0 ? "what was printed is lost" : std::strerror(first_error);
  return Error{first_error == EPIPE ? "pipe" : "output",
               fmt::format("cannot write to standard output: {}", reason)};
}

}  // namespace tessera
