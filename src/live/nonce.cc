#include "live/nonce.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace tessera {

std::uint64_t draw_nonce() {
  std::uint64_t nonce = 0;
  while (nonce == 0)
    // It gives all of so few bytes, or none because of a signal.
    if (::getrandom(&nonce, sizeof nonce, 0) < 0) CHECK(errno == EINTR);
  return nonce;
}

}  // namespace tessera
