# Flags every target of ours is compiled with.
add_library(tessera_flags INTERFACE)
target_compile_options(tessera_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${TESSERA_WERROR}>:-Werror>
  # A fused multiply-add rounds once where a product and a sum round twice. Results must have the same
  # bits on every CPU, so the compiler may not fuse where one target can and another cannot.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # CHECK leans on << binding before ==, which Clang suspects to be an accident.
  target_compile_options(tessera_flags INTERFACE -Wno-overloaded-shift-op-parentheses)
endif()
# Files compiled together shadow each other's names without harm, and look like headers to GCC. Locals that shadow locals are
# found there, too.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(shadowing -Wshadow=local)
endif()
if(TESSERA_UNITY STREQUAL "ON")
  target_compile_options(tessera_flags INTERFACE ${shadowing})
else()
  target_compile_options(tessera_flags INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:TESSERA_TOGETHER>>,${shadowing},-Wshadow>)
endif()
if(TESSERA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tessera_flags INTERFACE -Wno-subobject-linkage)
endif()
# Some tests ask for less under sanitizers, whichever compiler brings them.
if(NOT TESSERA_SANITIZE)
  target_compile_definitions(tessera_flags INTERFACE TESSERA_SANITIZED=0)
else()
  target_compile_definitions(tessera_flags INTERFACE TESSERA_SANITIZED=1)
  target_compile_options(tessera_flags INTERFACE
    -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
# Highway compiles a kernel once per instruction set. SSE2, AVX2 and AVX-512 are left: processors without AVX2 are
# older than 2013, and the two sets between take a third of the kernels' time to compile.
# Sanitized kernels take three times as long, and are the same code once more for each set: two sets are enough there.
set(without "HWY_SSSE3|HWY_SSE4")
if(TESSERA_SANITIZE)
  string(APPEND without "|HWY_AVX3")
endif()
# Kernels keep vectors in arrays, which SVE's vectors of unknown length cannot be in: on ARM there is NEON.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  string(APPEND without "|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
endif()
target_compile_definitions(tessera_flags INTERFACE "HWY_DISABLED_TARGETS=(${without})")
if(TESSERA_FUZZ)
  target_compile_options(tessera_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TESSERA_CCACHE})
endif()
