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

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

// A socket's address holds some hundred characters and folders may be deeper, so the folder is
// opened and the socket named relative to its descriptor.
class SocketPlace {
 public:
  explicit SocketPlace(const fs::path& path)
      : folder_(::open(path.has_parent_path() ? path.parent_path().c_str() : ".",
                       O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    const std::string name = fmt::format("/proc/self/fd/{}/{}", folder_, path.filename().string());
    address.sun_family = AF_UNIX;
    if (folder_ >= 0 && name.size() < sizeof address.sun_path) {
      std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
      ok = true;
    }
  }
  ~SocketPlace() {
    if (folder_ >= 0) ::close(folder_);
  }
  SocketPlace(const SocketPlace&) = delete;
  SocketPlace& operator=(const SocketPlace&) = delete;

  sockaddr_un address{};
  bool ok = false;

 private:
  int folder_;
};

std::invalid_argument fault(std::string_view what) {
  return std::invalid_argument(fmt::format("{}: {}", what, std::strerror(errno)));
}

int listen_locally(const fs::path& path) {
  const SocketPlace place(path);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::unlink(path.c_str());
  if (!place.ok || listener < 0 ||
      ::bind(listener, reinterpret_cast<const sockaddr*>(&place.address), sizeof place.address) !=
          0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener, 8) != 0) {
    const std::invalid_argument error = fault("cannot make " + path.string());
    if (listener >= 0) ::close(listener);
    throw error;
  }
  return listener;
}

int listen_http(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in where{};
  where.sin_family = AF_INET;
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  const bool readable =
      colon != address.npos && std::from_chars(address.data() + colon + 1, end, port).ptr == end &&
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr) == 1;
  if (!readable || (ntohl(where.sin_addr.s_addr) >> 24) != 127)
    throw std::invalid_argument(fmt::format(
        "metrics={}: write a loopback address and a port, such as 127.0.0.1:9464", address));
  where.sin_port = htons(port);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
      ::listen(listener, 8) != 0) {
    const std::invalid_argument error = fault("metrics=" + address);
    ::close(listener);
    throw error;
  }
  return listener;
}

// What the other side sends until a line ends, at most so much, for at most a second per piece.
std::string read_line(int connection, std::string_view end, std::size_t most) {
  std::string text;
  char buffer[512];
  while (text.size() < most && text.find(end) == text.npos) {
    const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

bool write_text(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void set_patience(int connection) {
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

}  // namespace

StatusServer::StatusServer(StatusServerOptions options, Answer answer)
    : options_(std::move(options)), answer_(std::move(answer)) {
  if (!options_.http_address.empty()) http_ = listen_http(options_.http_address);
  local_ = listen_locally(options_.socket);
  if (::pipe2(wake_, O_CLOEXEC) != 0) throw fault("cannot make a pipe");
  thread_ = std::thread([this] { serve(); });
}

StatusServer::~StatusServer() {
  ::close(wake_[1]);
  thread_.join();
  for (const int open : {local_, http_, wake_[0]})
    if (open >= 0) ::close(open);
  ::unlink(options_.socket.c_str());
}

void StatusServer::serve() {
  pollfd watched[3] = {{.fd = wake_[0], .events = POLLIN, .revents = 0},
                       {.fd = local_, .events = POLLIN, .revents = 0},
                       {.fd = http_, .events = POLLIN, .revents = 0}};  // -1 is passed over.
  for (;;) {
    if (::poll(watched, 3, -1) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    for (int i = 1; i < 3; ++i) {
      if ((watched[i].revents & POLLIN) == 0) continue;
      const int connection = ::accept4(watched[i].fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      set_patience(connection);
      i == 1 ? answer_local(connection) : answer_http(connection);
      ::close(connection);
    }
  }
}

void StatusServer::answer_local(int connection) {
  std::string format = read_line(connection, "\n", 64);
  while (!format.empty() && (format.back() == '\n' || format.back() == '\r')) format.pop_back();
  if (format != "text" && format != "json" && format != "prometheus") return;
  write_text(connection, answer_(format));
}

void StatusServer::answer_http(int connection) {
  const std::string request = read_line(connection, "\r\n\r\n", 8192);
  const bool known = request.starts_with("GET /metrics ") || request.starts_with("GET / ");
  const std::string body = known ? answer_("prometheus") : "only GET /metrics is answered here\n";
  write_text(connection,
             fmt::format("HTTP/1.0 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                         "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                         known ? "200 OK" : "404 Not Found", body.size(), body));
}

Result<std::string> ask_status(const fs::path& socket, std::string_view format) {
  const SocketPlace place(socket);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 || !place.ok ||
      ::connect(connection, reinterpret_cast<const sockaddr*>(&place.address),
                sizeof place.address) != 0) {
    const Error error{"status", fmt::format("nobody listens at {}: {}; is the node running?",
                                            socket.string(), std::strerror(errno))};
    if (connection >= 0) ::close(connection);
    return error;
  }
  set_patience(connection);
  std::string answer;
  if (write_text(connection, fmt::format("{}\n", format)))
    answer = read_line(connection, std::string_view("\0", 1), 64 << 20);
  ::close(connection);
  if (answer.empty())
    return Error{"status", fmt::format("{} gave no answer within a second", socket.string())};
  return answer;
}

}  // namespace tessera
