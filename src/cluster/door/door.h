// Several processes of the program as the ranks of one simulation, where mpirun or srun started
// them. MPI is loaded then and not before: most runs are on one machine, and libmpi takes longer to
// load than the program to start.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/ranks.h"

namespace tessera {

class Cluster : public Ranks {
 public:
  virtual std::uint32_t here() const = 0;        // Our number among the ranks on this machine.
  virtual std::uint32_t count_here() const = 0;  // How many these are.
  // Ends all ranks at once, for one that cannot go on while the others wait for it.
  virtual void abandon(int exit_code) = 0;
};

// How many processes the environment says were started together: by Open MPI, MPICH or Slurm. 1
// where it says nothing of it.
std::uint32_t processes_started_together();

std::uint32_t rank_by_environment();  // Of this process among them; 0 where it says nothing of it.

// All ranks join in it. Null where this process was started alone. Throws std::invalid_argument
// where it was not, and MPI cannot be used.
std::unique_ptr<Cluster> join_cluster();

// The one thing the library with MPI exports. Both sides must come from one build.
struct MpiLibrary {
  const char* version = nullptr;
  std::unique_ptr<Cluster> (*join)() = nullptr;
};
using OpenMpiLibrary = const MpiLibrary*();
inline constexpr const char* kOpenMpiLibrary = "tessera_open_mpi_library";

}  // namespace tessera
