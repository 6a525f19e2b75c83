// The sockets by which a node is asked how it is: one in its folder, and one for HTTP on a loopback
// address.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <string>

namespace tessera {

// A socket's address holds some hundred characters and folders may be deeper, so the folder is
// opened and the socket named relative to its descriptor.
class SocketPlace {
 public:
  explicit SocketPlace(const std::filesystem::path& path);
  ~SocketPlace();
  SocketPlace(const SocketPlace&) = delete;
  SocketPlace& operator=(const SocketPlace&) = delete;

  const sockaddr* where() const { return reinterpret_cast<const sockaddr*>(&address); }

  int error = 0;  // Of errno's kind; 0: the address can be used.
  sockaddr_un address{};

 private:
  int folder_;
};

// Both throw std::invalid_argument that names what cannot be made. The first is reachable for the
// node's own user only, from its first moment; a loopback address is all the second may be.
int listen_locally(const std::filesystem::path& path);
int listen_http(const std::string& address);

}  // namespace tessera
