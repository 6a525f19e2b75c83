#include "cuda/emulated/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define TESSERA_FIBERS_FOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESSERA_FIBERS_FOR_ASAN 1
#endif
#endif
#ifdef TESSERA_FIBERS_FOR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

// Saves what a function must keep, and where to return to, on this stack; then goes on with what
// was saved on the other.
extern "C" void tessera_switch_stacks(void** from, void* to);
asm(R"(
.text
.type tessera_switch_stacks, @function
tessera_switch_stacks:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size tessera_switch_stacks, . - tessera_switch_stacks
)");

namespace tessera::cuda::emulated {
namespace {

#ifdef TESSERA_FIBERS_FOR_ASAN
constexpr std::size_t kStackBytes = std::size_t{1} << 18;
#else
constexpr std::size_t kStackBytes = std::size_t{1} << 16;
#endif
constexpr std::size_t kGuardBytes = 4096;

// Who runs on this thread, and who let it: the stack of the thread itself.
thread_local Fiber* running = nullptr;
thread_local void* outside = nullptr;

#ifdef TESSERA_FIBERS_FOR_ASAN
thread_local const void* outside_stack = nullptr;
thread_local std::size_t outside_bytes = 0;
void leave_for(void** own, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(own, stack, bytes);
}
void arrive(void* own, const void** from, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(own, from, bytes);
}
#else
void* const outside_stack = nullptr;
constexpr std::size_t outside_bytes = 0;
void leave_for(void**, const void*, std::size_t) {}
#endif

}  // namespace

Fiber::Fiber() {
  stack_ = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, kGuardBytes, PROT_NONE);
  // As if it had stopped at the beginning of begin(), whose stack a call would leave so: six
  // registers, the place to return to, and one more word.
  auto** const top = reinterpret_cast<void**>(static_cast<std::byte*>(stack_) + kStackBytes);
  place_ = top - 8;
  top[-2] = reinterpret_cast<void*>(&Fiber::begin);
}

Fiber::~Fiber() {
  munmap(stack_, kStackBytes);
}

void Fiber::go_on() {
  running = this;
  void* own = nullptr;
  leave_for(&own, stack_, kStackBytes);
  tessera_switch_stacks(&outside, place_);
#ifdef TESSERA_FIBERS_FOR_ASAN
  arrive(own, nullptr, nullptr);
#endif
}

void Fiber::stop() {
  Fiber& own = *running;
  leave_for(&own.sanitizer_, outside_stack, outside_bytes);
  tessera_switch_stacks(&own.place_, outside);
  enter();
}

void Fiber::enter() {
#ifdef TESSERA_FIBERS_FOR_ASAN
  arrive(running->sanitizer_, &outside_stack, &outside_bytes);
#endif
}

void Fiber::begin() {
  enter();
  for (;;) {
    (*running->body_)();
    running->body_ = nullptr;
    stop();
  }
}

}  // namespace tessera::cuda::emulated
