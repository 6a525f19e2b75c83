// Functions that stop in the middle and go on later, each with a stack of its own. Switching is a
// dozen instructions, for x86-64 alone.
#pragma once

#include <cstddef>
#include <functional>

namespace tessera::cuda::emulated {

// Runs bodies, one after the other. Belongs to the thread that made it.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on with the body, which was given when the last one had ended, until it stops or ends.
  void go_on();
  void give(const std::function<void()>& body) { body_ = &body; }
  bool has_ended() const { return body_ == nullptr; }

  // Of the fiber that is running: back to who let it go on.
  static void stop();

 private:
  [[noreturn]] static void begin();
  static void enter();

  void* stack_ = nullptr;
  void* place_ = nullptr;  // Where it stopped: the top of its stack.
  void* sanitizer_ = nullptr;
  const std::function<void()>* body_ = nullptr;
};

}  // namespace tessera::cuda::emulated
