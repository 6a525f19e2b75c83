#include "torch/tensors.h"

#include "torch/blas.h"

namespace tessera {

void use_one_torch_thread() {
  thread_local const bool once = [] {
    at::set_num_threads(1);
    use_one_blas_thread();
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace tessera
