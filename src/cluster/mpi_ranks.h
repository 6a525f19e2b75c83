// The processes of an MPI job as ranks. Only bytes travel, and no float is summed on the way.
#pragma once

#include <memory>

#include "cluster/door/door.h"

namespace tessera {

// Begins MPI, which can be done once in a process; MPI ends with what is returned.
std::unique_ptr<Cluster> join_mpi();

}  // namespace tessera
