// How a live node's run came to its end.
#pragma once

namespace tessera {

enum class RunEnd {
  kFinished,
  kStopped,    // As it was asked to, before its end.
  kNotBegun,   // As it was asked to, while it waited for members.
  kFellShort,  // It came to its end without having done its work; shortfall() says why.
  kRemoved,    // The roster's owner has removed it, before its end.
};

}  // namespace tessera
