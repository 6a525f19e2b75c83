// AD-PSGD's one byte of its own on a message: it wants a share in return. An answer has none.
#pragma once

#include "base/bytes.h"

namespace tessera {

inline const Bytes kAsks = {std::byte{1}};

}  // namespace tessera
