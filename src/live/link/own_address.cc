#include "live/link/own_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "live/link/names.h"

namespace tessera {
namespace {

class OpenSocket {
 public:
  OpenSocket(int family, int type) : descriptor_(::socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~OpenSocket() { ::close(descriptor_); }
  OpenSocket(const OpenSocket&) = delete;
  OpenSocket& operator=(const OpenSocket&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// A datagram socket that is connected sends nothing, and has the address that it would send from.
bool own_end(const addrinfo& towards, std::string& host) {
  const OpenSocket socket(towards.ai_family, SOCK_DGRAM);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  if (::connect(socket.descriptor(), towards.ai_addr, towards.ai_addrlen) != 0 ||
      ::getsockname(socket.descriptor(), address, &size) != 0 ||
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return false;
  host = own.ss_family == AF_INET6 ? fmt::format("[{}]", text.data()) : std::string(text.data());
  return true;
}

bool is_unused(int port) {
  const OpenSocket socket(AF_INET, SOCK_STREAM);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_ANY);
  const int yes = 1;  // Connections that ended a moment ago are in nobody's way.
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return ::bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
}

}  // namespace

Result<std::string> own_host_towards(const std::string& address) {
  std::string_view host = split_address(address).host;
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  const std::string name(host), port(split_address(address).port);
  if (const int fault = ::getaddrinfo(name.c_str(), port.c_str(), &hints, &first); fault != 0)
    return Error{"name", fmt::format("no address is known for {}: {}", name, gai_strerror(fault))};
  std::string own;
  bool found = false;
  for (const addrinfo* at = first; at != nullptr && !found; at = at->ai_next)
    found = own_end(*at, own);
  const std::string why = std::strerror(errno);
  ::freeaddrinfo(first);
  if (!found) return Error{"route", fmt::format("there is no way to {}: {}", address, why)};
  return own;
}

std::optional<PortClaim> PortClaim::make(int port) {
  const std::string name = fmt::format("tessera-port-{}", port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());  // A name that begins with a zero is no file.
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return PortClaim(port, -1);
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0)
    return PortClaim(port, descriptor);
  const bool taken = errno == EADDRINUSE;
  ::close(descriptor);
  return taken ? std::nullopt : std::optional(PortClaim(port, -1));
}

PortClaim::~PortClaim() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Claimed first: who is given the same port in the same moment must not find it free.
Result<PortClaim> claim_unused_port(int first, int taken) {
  constexpr int kTried = 100;
  for (int port = first; port < first + kTried; ++port) {
    if (port == taken) continue;
    std::optional<PortClaim> claim = PortClaim::make(port);
    if (claim && is_unused(port)) return std::move(*claim);
  }
  return Error{"port", fmt::format("all ports from {} to {} are taken", first, first + kTried - 1)};
}

}  // namespace tessera
