// The pause before something that failed is tried again: a second, then twice as long each time, a
// minute at most.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace tessera {

class BackOff {
 public:
  Duration length() const { return length_; }  // Zero while nothing fails.
  void note(bool worked) {
    length_ = worked ? Duration::zero() : std::clamp<Duration>(2 * length_, kMin, kMax);
  }

 private:
  static constexpr Duration kMin = std::chrono::seconds(1), kMax = std::chrono::minutes(1);
  Duration length_{};
};

}  // namespace tessera
