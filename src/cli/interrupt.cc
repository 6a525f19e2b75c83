#include "cli/interrupt.h"

#include <csignal>
#include <cstdlib>

namespace tessera {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;  // By which signal.
SecondSignal second_signal = SecondSignal::kChangesNothing;
void (*call_also)() = nullptr;

void on_signal(int signal) {
  asked_to_stop = signal;
  if (call_also != nullptr) call_also();
  if (second_signal == SecondSignal::kEndsAtOnce) std::signal(signal, SIG_DFL);
}

}  // namespace

void listen_for(std::initializer_list<int> signals, SecondSignal second, void (*also)()) {
  second_signal = second;
  call_also = also;
  for (const int signal : signals) {
    const auto before = std::signal(signal, on_signal);
    // nohup asks that a closed terminal be ignored.
    if (signal == SIGHUP && before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

bool interrupted() {
  return asked_to_stop != 0;
}

bool asked_by_batch_system() {
  return asked_to_stop == SIGUSR1 ||
         (asked_to_stop == SIGTERM && std::getenv("SLURM_JOB_ID") != nullptr);
}

}  // namespace tessera
