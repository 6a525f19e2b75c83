#include "learn/amx.h"

#include "learn/bf16.h"

#if TESSERA_AMX_EMULATED

bool tessera::has_amx() {
  return has_bf16();
}

#elif defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera {
namespace {

bool cpu_has_tiles() {
  constexpr unsigned kExtendedFeatures = 7, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(kExtendedFeatures, 0, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & kAmxBf16) != 0 && (edx & kAmxTile) != 0;
}

// A thread's tiles are 8 KiB that the system saves with its registers; whoever has not asked for
// them is killed by the first instruction.
bool system_lets_us() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // <asm/prctl.h>
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_amx() {
  static const bool has = has_bf16() && cpu_has_tiles() && system_lets_us();
  return has;
}

}  // namespace tessera

#else

bool tessera::has_amx() {
  return false;
}

#endif

bool tessera::amx_is_emulated() {
#if TESSERA_AMX_EMULATED
  return true;
#else
  return false;
#endif
}
