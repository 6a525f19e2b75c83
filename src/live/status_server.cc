#include "live/status_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/stopwatch.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr Duration kPatience = std::chrono::seconds(1);  // For a question, and for its answer.

// A socket's address holds some hundred characters and folders may be deeper, so the folder is
// opened and the socket named relative to its descriptor.
class SocketPlace {
 public:
  explicit SocketPlace(const fs::path& path)
      : folder_(::open(path.has_parent_path() ? path.parent_path().c_str() : ".",
                       O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0) error = errno;
    const std::string name = fmt::format("/proc/self/fd/{}/{}", folder_, path.filename().string());
    address.sun_family = AF_UNIX;
    if (error == 0 && name.size() >= sizeof address.sun_path) error = ENAMETOOLONG;
    if (error == 0) std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  }
  ~SocketPlace() {
    if (folder_ >= 0) ::close(folder_);
  }
  SocketPlace(const SocketPlace&) = delete;
  SocketPlace& operator=(const SocketPlace&) = delete;

  const sockaddr* where() const { return reinterpret_cast<const sockaddr*>(&address); }

  int error = 0;  // Of errno's kind; 0: the address can be used.
  sockaddr_un address{};

 private:
  int folder_;
};

std::invalid_argument fault(std::string_view what, int error) {
  return std::invalid_argument(fmt::format("{}: {}", what, std::strerror(error)));
}

// Listeners do not block: who has gone between poll and accept is not waited for.
constexpr int kListener = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

int listen_locally(const fs::path& path) {
  const SocketPlace place(path);
  if (place.error != 0) throw fault("cannot make " + path.string(), place.error);
  const int listener = ::socket(AF_UNIX, kListener, 0);
  ::unlink(path.c_str());
  if (listener < 0 || ::bind(listener, place.where(), sizeof place.address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener, 8) != 0) {
    const int error = errno;
    if (listener >= 0) ::close(listener);
    throw fault("cannot make " + path.string(), error);
  }
  return listener;
}

// A port of 0 would be any: nobody could know which.
sockaddr_in parse_loopback(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in where{};
  where.sin_family = AF_INET;
  std::uint16_t port = 0;
  if (colon != address.npos) {
    const char* end = address.data() + address.size();
    const auto [rest, wrong] = std::from_chars(address.data() + colon + 1, end, port);
    if (wrong != std::errc{} || rest != end) port = 0;
  }
  if (port == 0 || ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr) != 1 ||
      (ntohl(where.sin_addr.s_addr) >> 24) != 127)
    throw std::invalid_argument(
        fmt::format("metrics={}: write a loopback address and a port from 1 to 65535, such as "
                    "127.0.0.1:9464",
                    address));
  where.sin_port = htons(port);
  return where;
}

int listen_http(const std::string& address) {
  const sockaddr_in where = parse_loopback(address);
  const int listener = ::socket(AF_INET, kListener, 0);
  const int yes = 1;
  if (listener < 0 || ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
      ::listen(listener, 8) != 0) {
    const int error = errno;
    if (listener >= 0) ::close(listener);
    throw fault("metrics=" + address, error);
  }
  return listener;
}

// What is said over a connection, which has so long in all: counted for each piece, a byte now and
// then would hold this side for ever. Something on `wake` ends it sooner.
class Conversation {
 public:
  Conversation(int connection, Duration patience, int wake = -1)
      : connection_(connection), wake_(wake), seconds_(to_seconds(patience)) {}

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
    pollfd watched[2] = {{.fd = connection_, .events = events, .revents = 0},
                         {.fd = wake_, .events = POLLIN, .revents = 0}};  // -1 is passed over.
    for (;;) {
      const double left = seconds_ - watch_.seconds();
      if (left <= 0) return false;
      const int count = ::poll(watched, 2, static_cast<int>(left * 1e3) + 1);
      if (count < 0 && errno == EINTR) continue;
      return count > 0 && watched[1].revents == 0;
    }
  }

  int connection_, wake_;
  double seconds_;
  bool ended_ = false;
  Stopwatch watch_;
};

// Signals are for the node's own thread, so one that is made meanwhile is made deaf to them.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

StatusServer::Descriptors::~Descriptors() {
  for (const int open : {local, http, wake[0], wake[1]})
    if (open >= 0) ::close(open);
}

StatusServer::StatusServer(StatusServerOptions options, Answer answer)
    : options_(std::move(options)), answer_(std::move(answer)) {
  if (!options_.http_address.empty()) open_.http = listen_http(options_.http_address);
  open_.local = listen_locally(options_.socket);
  if (::pipe2(open_.wake, O_CLOEXEC) != 0) throw fault("cannot make a pipe", errno);
  const SignalsHeld held;
  thread_ = std::thread([this] { serve(); });
}

StatusServer::~StatusServer() {
  ::close(std::exchange(open_.wake[1], -1));
  thread_.join();
  ::unlink(options_.socket.c_str());
}

void StatusServer::serve() {
  pollfd watched[3] = {{.fd = open_.wake[0], .events = POLLIN, .revents = 0},
                       {.fd = open_.local, .events = POLLIN, .revents = 0},
                       {.fd = open_.http, .events = POLLIN, .revents = 0}};  // -1: passed over.
  for (;;) {
    if (::poll(watched, 3, -1) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    for (int i = 1; i < 3; ++i) {
      if ((watched[i].revents & POLLIN) == 0) continue;
      const int connection = ::accept4(watched[i].fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      i == 1 ? answer_local(connection) : answer_http(connection);
      ::close(connection);
    }
  }
}

void StatusServer::answer_local(int connection) {
  const int wake = open_.wake[0];
  std::string format = Conversation(connection, kPatience, wake).read("\n", 64);
  while (!format.empty() && (format.back() == '\n' || format.back() == '\r')) format.pop_back();
  if (format != "text" && format != "json" && format != "prometheus") return;
  const std::string answer = answer_(format);
  Conversation(connection, kPatience, wake).write(answer);
}

void StatusServer::answer_http(int connection) {
  const int wake = open_.wake[0];
  const std::string request = Conversation(connection, kPatience, wake).read("\r\n\r\n", 8192);
  const bool known = request.starts_with("GET /metrics ") || request.starts_with("GET / ");
  const std::string body = known ? answer_("prometheus") : "only GET /metrics is answered here\n";
  const std::string answer = fmt::format(
      "HTTP/1.0 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      known ? "200 OK" : "404 Not Found", body.size(), body);
  Conversation(connection, kPatience, wake).write(answer);
}

namespace {

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
