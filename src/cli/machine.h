// What this machine has for programs that run side by side.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

unsigned cores_allowed();  // To this process: taskset and Slurm may leave it fewer than there are.

// Bytes that programs can still take, by the system's count and by that of a container around us;
// the largest number where neither says.
std::uint64_t memory_available();
// The most memory a process has had so far; 0 where it has gone.
std::uint64_t memory_peak_of(pid_t pid);

// As CUDA_VISIBLE_DEVICES would have them, one by one: what that variable says, or the numbers of
// the GPUs that NVIDIA's driver knows.
std::vector<std::string> gpus();

}  // namespace tessera
