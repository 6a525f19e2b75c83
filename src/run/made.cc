#include "run/made.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace tessera {

Made made_now() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  std::array<char, 256> host{};
  // A name that does not fit is cut short, with or without a zero at its end.
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = 0;
  return {.version = TESSERA_VERSION,
          .commit = TESSERA_COMMIT,
          .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
          .host = host.data()};
}

}  // namespace tessera
