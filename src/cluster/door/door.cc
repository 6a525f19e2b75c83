#include "cluster/door/door.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

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

}  // namespace

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
  const MpiLibrary& opened = *open();
  if (opened.version != std::string_view(TESSERA_VERSION))
    refuse(processes, fmt::format("{} is of version {}, the program of {}", TESSERA_MPI_LIBRARY,
                                  opened.version, TESSERA_VERSION));
  std::unique_ptr<Cluster> cluster = opened.join();
  if (cluster->count() != processes)
    refuse(processes,
           fmt::format("MPI sees {} of them. With srun, try --mpi=pmix or --mpi=pmi2 (srun "
                       "--mpi=list shows what there is)",
                       cluster->count()));
  return cluster;
}

}  // namespace tessera
