#include "torch/blas.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

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

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return features;
}

std::string_view better_blas_kernel(std::string_view chosen, CpuFeatures cpu) {
  if (chosen.empty()) return {};
  const bool has_avx512 = is_one_of(chosen, {"SkylakeX", "Cooperlake", "SapphireRapids"});
  const bool has_fma = has_avx512 || is_one_of(chosen, {"Haswell", "Zen", "Excavator"});
  // AMD's Zen kernels are left alone: they are OpenBLAS's own choice for CPUs it does know.
  if (cpu.avx512 && !has_fma) return "SkylakeX";
  if (cpu.avx2_fma && !has_fma) return "Haswell";
  return {};
}

void choose_blas_kernel(char** argv) {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  if (std::getenv(kVariable)) return;
  const std::string_view better = better_blas_kernel(chosen_kernel(), cpu_features());
  if (better.empty()) return;
  ::setenv(kVariable, std::string(better).c_str(), 1);
  ::execv("/proc/self/exe", argv);
  // Where the program cannot start itself again it goes on as it is, only slower.
}

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
