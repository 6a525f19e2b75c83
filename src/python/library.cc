// The entry of tessera._tessera: what Python calls when it imports the module.
#include <pybind11/pybind11.h>

#include "python/bindings.h"

PYBIND11_MODULE(_tessera, module) {
  module.doc() = "The compiled half of tessera; use the package, not this.";
  tessera::bind_kernels(module);
  tessera::bind_sharing(module);
  tessera::bind_runs(module);
  tessera::bind_folders(module);
  tessera::bind_own_sharing(module);
  tessera::bind_own_node(module);
  tessera::bind_own_protocol(module);
#if TESSERA_WITH_LIVE
  tessera::bind_live_peer(module);
#endif
}
