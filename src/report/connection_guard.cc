#include "report/connection_guard.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tessera {
namespace {

constexpr double kLookSeconds = 0.25;
constexpr int kLooksInLineMax = 120;  // Half a minute.

std::vector<int> open_descriptors() {
  std::vector<int> open;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0) open.push_back(fd);
  }
  return open;
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::optional<std::uint16_t> port_of(int fd, NameOf name_of) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (name_of(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  if (address.sin_family != AF_INET) return std::nullopt;
  return ntohs(address.sin_port);
}

// A whole request that the server has not read yet: it waits for others, and not we for it.
bool waits_in_line(int fd) {
  std::array<char, 8192> head{};
  const ssize_t length = ::recv(fd, head.data(), head.size(), MSG_PEEK | MSG_DONTWAIT);
  if (length <= 0) return false;
  return std::string_view(head.data(), static_cast<std::size_t>(length)).find("\r\n\r\n") !=
         std::string_view::npos;
}

}  // namespace

ConnectionGuard::ConnectionGuard(int port, double seconds_max)
    : port_(port), looks_max_(looks_in(seconds_max)) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      never.wait_for(lock, stop, std::chrono::duration<double>(kLookSeconds), [] { return false; });
      look();
    }
  });
}

int ConnectionGuard::looks_in(double seconds) {
  return static_cast<int>(seconds / kLookSeconds);
}

// The one that listens has no other side.
void ConnectionGuard::look() {
  std::map<std::pair<int, std::uint16_t>, int> seen;
  for (const int fd : open_descriptors()) {
    const auto here = port_of(fd, ::getsockname), there = port_of(fd, ::getpeername);
    if (here != port_ || !there) continue;
    const auto before = seen_.find({fd, *there});
    const int looks = before == seen_.end() ? 1 : before->second + 1;
    seen[{fd, *there}] = looks;
    if (looks > looks_max_ && (looks > kLooksInLineMax || !waits_in_line(fd)))
      ::shutdown(fd, SHUT_RDWR);
  }
  seen_ = std::move(seen);
}

}  // namespace tessera
