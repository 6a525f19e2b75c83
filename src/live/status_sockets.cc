#include "live/status_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::invalid_argument fault(std::string_view what, int error) {
  return std::invalid_argument(fmt::format("{}: {}", what, std::strerror(error)));
}

// Listeners do not block: who has gone between poll and accept is not waited for.
constexpr int kListener = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

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

}  // namespace

SocketPlace::SocketPlace(const fs::path& path)
    : folder_(::open(path.has_parent_path() ? path.parent_path().c_str() : ".",
                     O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) error = errno;
  const std::string name = fmt::format("/proc/self/fd/{}/{}", folder_, path.filename().string());
  address.sun_family = AF_UNIX;
  if (error == 0 && name.size() >= sizeof address.sun_path) error = ENAMETOOLONG;
  if (error == 0) std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
}

SocketPlace::~SocketPlace() {
  if (folder_ >= 0) ::close(folder_);
}

int listen_locally(const fs::path& path) {
  const SocketPlace place(path);
  if (place.error != 0) throw fault("cannot make " + path.string(), place.error);
  const int listener = ::socket(AF_UNIX, kListener, 0);
  ::unlink(path.c_str());
  // Linux gives the file that bind makes the mode of the socket; elsewhere it is set before anyone
  // can connect.
  if (listener >= 0) (void)::fchmod(listener, 0600);
  if (listener < 0 || ::bind(listener, place.where(), sizeof place.address) != 0 ||
      ::chmod(place.address.sun_path, 0600) != 0 || ::listen(listener, SOMAXCONN) != 0) {
    const int error = errno;
    if (listener >= 0) ::close(listener);
    throw fault("cannot make " + path.string(), error);
  }
  return listener;
}

int listen_http(const std::string& address) {
  const sockaddr_in where = parse_loopback(address);
  const int listener = ::socket(AF_INET, kListener, 0);
  const int yes = 1;
  if (listener < 0 || ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
      ::listen(listener, SOMAXCONN) != 0) {
    const int error = errno;
    if (listener >= 0) ::close(listener);
    throw fault("metrics=" + address, error);
  }
  return listener;
}

}  // namespace tessera
