#include "cluster/door/door.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"

namespace tessera {
namespace {

[[noreturn]] void refuse(std::uint32_t processes, std::string_view why) {
  throw std::invalid_argument(fmt::format(
      "{} processes were started together, and they cannot be one simulation: {}. Install MPI "
      "(scripts/setup.sh cluster) and build again; or start one process, which uses every core",
      processes, why));
}

// Without this MPI would end the program with a page about itself, once per process.
void refuse_without_pmi(std::uint32_t processes) {
  const char* const place = std::getenv("SLURM_PROCID");
  if (!place || std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK") ||
      std::getenv("PMI_RANK"))
    return;
  throw std::invalid_argument(fmt::format(
      "srun started {} processes that cannot find each other: add --mpi=pmix, or --mpi=pmi2 with "
      "MPICH (srun --mpi=list shows what there is); or start one process, which uses every core",
      processes));
}

// With several GPUs on a machine its ranks take them in turn, unless whoever started them has said
// which: a list of one.
void choose_gpu(std::uint32_t here) {
  std::vector<std::string> gpus;
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (const std::string_view gpu : split(visible, ',')) gpus.emplace_back(gpu);
  } else {
    while (std::filesystem::exists(fmt::format("/dev/nvidia{}", gpus.size())))
      gpus.push_back(std::to_string(gpus.size()));
  }
  if (gpus.size() > 1) ::setenv("CUDA_VISIBLE_DEVICES", gpus[here % gpus.size()].c_str(), 1);
}

}  // namespace

unsigned Cluster::cores_each() const {
  const auto all = static_cast<unsigned>(std::max(1l, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::max(1u, std::min(std::thread::hardware_concurrency(), all / count_here()));
}

std::uint32_t processes_started_together() {
  // Open MPI; MPICH and those that follow it; a step of a Slurm job.
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const count = std::getenv(name))
      return static_cast<std::uint32_t>(std::clamp(std::atoi(count), 1, 1 << 20));
  return 1;
}

std::uint32_t rank_by_environment() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const rank = std::getenv(name))
      return static_cast<std::uint32_t>(std::max(0, std::atoi(rank)));
  return 0;
}

std::unique_ptr<Cluster> join_cluster() {
  const std::uint32_t processes = processes_started_together();
  if (processes == 1) return nullptr;
  refuse_without_pmi(processes);
  // Open MPI loads parts of its own that look for its names among the program's.
  void* const library = ::dlopen(TESSERA_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!library) refuse(processes, ::dlerror());
  auto* const open = reinterpret_cast<OpenMpiLibrary*>(::dlsym(library, kOpenMpiLibrary));
  if (!open) refuse(processes, ::dlerror());
  const MpiLibrary opened = open();
  if (opened.version != std::string_view(TESSERA_VERSION))
    refuse(processes, fmt::format("{} is of version {}, the program of {}", TESSERA_MPI_LIBRARY,
                                  opened.version, TESSERA_VERSION));
  std::unique_ptr<Cluster> cluster = opened.join();
  if (cluster->count() != processes)
    refuse(processes,
           fmt::format("MPI sees {} of them. With srun, try --mpi=pmix or --mpi=pmi2 (srun "
                       "--mpi=list shows what there is)",
                       cluster->count()));
  choose_gpu(cluster->here());
  return cluster;
}

}  // namespace tessera
