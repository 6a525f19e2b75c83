// How long to wait for others before going on without them. It learns from the waits there have
// been, as TCP does for its timeouts (Jacobson, "Congestion avoidance and control", 1988): their
// mean plus four times their mean deviation, never less than `least` nor more than `most`. The
// first wait, when nothing is known, may last `most`.
#pragma once

#include "base/archive.h"
#include "base/time.h"

namespace tessera {

struct PatienceOptions {
  Duration least{};
  Duration most{};  // Zero: patience without end.
};

class Patience {
 public:
  explicit Patience(PatienceOptions options = {}) : options_(options) {}

  bool endless() const { return options_.most == Duration::zero(); }
  Duration limit() const;     // Of the next wait; not where it is endless.
  void learn(Duration wait);  // How long one lasted, or should have.

  void fields(Archive& archive);

 private:
  PatienceOptions options_;
  bool learnt_ = false;
  Duration mean_{}, deviation_{};
};

}  // namespace tessera
