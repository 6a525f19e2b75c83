// Where this machine is reached by others, as far as it can tell by itself.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera {

// The host this machine has towards another's host:port, as an address in a roster begins: the one
// its connections there leave from. Nothing is sent. Errors: "name", "route".
Result<std::string> own_host_towards(const std::string& address);

// The first port from `first` on that nothing listens at. Errors: "port".
Result<int> unused_port(int first);

}  // namespace tessera
