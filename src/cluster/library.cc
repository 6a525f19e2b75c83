// The one name that libtessera_mpi.so exports.
#include "cluster/mpi_ranks.h"

extern "C" __attribute__((visibility("default"))) tessera::MpiLibrary tessera_open_mpi_library() {
  return {.version = TESSERA_VERSION, .join = &tessera::join_mpi};
}
