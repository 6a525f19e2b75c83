// Where this machine is reached by others, as far as it can tell by itself.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace tessera {

// The host this machine has towards another's host:port, as an address in a roster begins: the one
// its connections there leave from. Nothing is sent. Errors: "name", "route".
Result<std::string> own_host_towards(const std::string& address);

// A port of this machine that a process means to listen at and has told others of. No other process
// that asks here is given it while this lives, though nothing listens there yet; what listens there
// in the end need not know of it. The claim is a name that the kernel keeps beside the ports, so it
// ends with the process and is its network namespace's own.
class PortClaim {
 public:
  // Nothing where another process has claimed it.
  static std::optional<PortClaim> make(int port);
  PortClaim(PortClaim&& other) noexcept
      : port_(other.port_), descriptor_(std::exchange(other.descriptor_, -1)) {}
  PortClaim& operator=(PortClaim&& other) noexcept {
    std::swap(port_, other.port_), std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~PortClaim();

  int port() const { return port_; }

 private:
  PortClaim(int port, int descriptor) : port_(port), descriptor_(descriptor) {}
  int port_;
  int descriptor_;  // None where the system has no such names.
};

// The first port from `first` on that nothing listens at and nobody has claimed; not `taken`.
// Errors: "port".
Result<PortClaim> claim_unused_port(int first, int taken = 0);

}  // namespace tessera
