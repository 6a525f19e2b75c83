// Signals that ask a command to end in order. The handler writes it down, and the command looks
// when it can.
#pragma once

#include <initializer_list>

namespace tessera {

constexpr int kInterrupted = 130;  // The exit code of a command that stopped with a checkpoint.

enum class SecondSignal { kEndsAtOnce, kChangesNothing };

// `also` is called from within the handler, so it may do only what is safe there.
void listen_for(std::initializer_list<int> signals, SecondSignal second, void (*also)() = nullptr);
bool interrupted();
// SIGUSR1, which batch systems send before a time limit, or SIGTERM within a job of Slurm's.
bool asked_by_batch_system();

}  // namespace tessera
