#include "torch/blas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

namespace tessera {
namespace {

// Looked up at run time: the program must also run where BLAS is something else.
template <typename Function>
Function* openblas(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

std::string_view chosen_kernel() {
  auto* const name = openblas<char*()>("openblas_get_corename");
  return name ? std::string_view(name()) : std::string_view();
}

}  // namespace

std::string describe_blas() {
  auto* const config = openblas<char*()>("openblas_get_config");
  if (!config) return "not OpenBLAS";
  const std::string_view text = config();
  return fmt::format("{}, {} kernels", text.substr(0, text.find(' ', text.find(' ') + 1)),
                     chosen_kernel());
}

void use_one_blas_thread() {
  if (auto* const set = openblas<void(int)>("openblas_set_num_threads")) set(1);
}

}  // namespace tessera
