// Matrix products in tiles (Intel AMX): 16 rows by 16 columns of float32 sums are a register, and
// one instruction adds to all of them the products of 32 factors each in bf16 (bf16.h):
//
//   sum += (a[0] b[0] + a[2] b[2] + ... a[30] b[30]) + (a[1] b[1] + ... a[31] b[31])
//
// where each bracket begins at zero and is added up by fused multiply-adds. That is another order
// than AVX-512 BF16's, so sums differ in their last bits. What is too small for float32's own
// fractions counts as zero. Built with -DTESSERA_AMX_EMULATED=ON, AVX-512 BF16 stands in for tiles,
// slowly and to the same bits (amx_emulated.h).
#pragma once

namespace tessera {

// Whether this CPU has tiles of bf16, this program was compiled for it, and the system lets it use
// them: Linux wants to be asked, once for all threads.
bool has_amx();
// Whether has_amx() means the stand-in: nothing to be timed.
bool amx_is_emulated();

}  // namespace tessera
