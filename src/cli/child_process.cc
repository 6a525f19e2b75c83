#include "cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/descriptor.h"

namespace tessera {

pid_t start_child(ChildCommand command) {
  const Descriptor log(
      ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open())
    throw std::runtime_error(
        fmt::format("its log {} cannot be opened: {}", command.log.string(), std::strerror(errno)));
  const pid_t parent = ::getpid();
  std::vector<char*> words;
  for (std::string& word : command.words) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0)
    throw std::runtime_error(
        fmt::format("there can be no process more: {}; fewer may fit", std::strerror(errno)));
  if (pid > 0) return pid;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(words.front(), words.data());
  ::_exit(127);
}

std::optional<int> ended_child(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void end_child(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

// Of the file's end only: a long run's log is asked for its last line again and again.
std::string last_line_of(const std::filesystem::path& log) {
  constexpr off_t kTail = 4096;
  const Descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  const off_t length = ::lseek(file.get(), 0, SEEK_END);
  std::array<char, kTail> tail{};
  const ssize_t got =
      ::pread(file.get(), tail.data(), tail.size(), std::max<off_t>(0, length - kTail));
  std::string_view text(tail.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace tessera
