// How long to wait for others before going on without them. It learns from the waits there have
// been, as TCP does for its timeouts (Jacobson, "Congestion avoidance and control", 1988): their
// mean plus four times their mean deviation, never less than `wait_min` nor more than `wait_max`.
// The first wait, when nothing is known, may last `wait_max`.
#pragma once

#include "base/archive.h"
#include "base/time.h"

namespace tessera {

struct PatienceOptions {
  Duration wait_min{};
  Duration wait_max{};  // Zero: patience without end.
};

class Patience {
 public:
  explicit Patience(PatienceOptions options = {}) : options_(options) {}

  bool endless() const { return options_.wait_max == Duration::zero(); }
  Duration limit() const;     // Of the next wait; not where it is endless.
  void learn(Duration wait);  // How long one lasted, or should have.

  void fields(Archive& archive);

 private:
  PatienceOptions options_;
  bool learnt_ = false;
  Duration mean_{}, deviation_{};
};

}  // namespace tessera
