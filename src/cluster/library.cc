// The one name that libtessera_mpi.so exports.
#include "cluster/mpi_ranks.h"

extern "C" __attribute__((visibility("default"))) const tessera::MpiLibrary*
tessera_open_mpi_library() {
  static constexpr tessera::MpiLibrary kLibrary{.version = TESSERA_VERSION,
                                                .join = &tessera::join_mpi};
  return &kLibrary;
}
