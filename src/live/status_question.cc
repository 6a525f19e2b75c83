#include "live/status_question.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/stopwatch.h"
#include "live/status_sockets.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// What is said over a connection, which has so long in all: counted for each piece, a byte now and
// then would hold this side for ever.
class Conversation {
 public:
  Conversation(int connection, Duration patience)
      : connection_(connection), seconds_(to_seconds(patience)) {}

  // Until `end` has come or the other side has ended, and at most so much.
  std::string read(std::string_view end, std::size_t most) {
    std::string text;
    char buffer[512];
    while (text.size() < most && text.find(end) == text.npos && ready(POLLIN)) {
      const ssize_t got = ::recv(connection_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      ended_ = got == 0;
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  bool ended() const { return ended_; }  // By the other side, after its last word.
  bool write(std::string_view text) {
    while (!text.empty()) {
      if (!ready(POLLOUT)) return false;
      const ssize_t put =
          ::send(connection_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (put <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }

 private:
  bool ready(short events) const {
    pollfd watched{.fd = connection_, .events = events, .revents = 0};
    for (;;) {
      const double left = seconds_ - watch_.seconds();
      if (left <= 0) return false;
      const int count = ::poll(&watched, 1, static_cast<int>(left * 1e3) + 1);
      if (count < 0 && errno == EINTR) continue;
      return count > 0;
    }
  }

  int connection_;
  double seconds_;
  bool ended_ = false;
  Stopwatch watch_;
};

Error unreachable(const fs::path& socket, int error, Duration patience) {
  // What connect says when its time is up.
  if (error == EAGAIN)
    return {"status", fmt::format("{} accepts nobody within {} s; is the node frozen?",
                                  socket.string(), to_seconds(patience))};
  return {"status", fmt::format("nobody listens at {}: {}; is the node running?", socket.string(),
                                std::strerror(error))};
}

}  // namespace

Result<std::string> ask_status(const fs::path& socket, std::string_view format, Duration patience) {
  const SocketPlace place(socket);
  if (place.error != 0) return unreachable(socket, place.error, patience);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A unix-domain connect waits while the other side's backlog is full, as long as sends may wait.
  const auto us = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::microseconds>(patience).count());
  const timeval wait{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  if (connection < 0 ||
      ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
      ::connect(connection, place.where(), sizeof place.address) != 0) {
    const int error = errno;
    if (connection >= 0) ::close(connection);
    return unreachable(socket, error, patience);
  }
  Conversation node(connection, patience);
  std::string answer;
  if (node.write(fmt::format("{}\n", format)))
    answer = node.read(std::string_view("\0", 1), 64 << 20);
  ::close(connection);
  if (answer.empty() || !node.ended())
    return Error{"status", fmt::format("{} gave no whole answer within {} s", socket.string(),
                                       to_seconds(patience))};
  return answer;
}

}  // namespace tessera
