/* The modes bf16 and int8 on AMX (docs/numerics.md, section 16), beside the tables of AVX-512, whose tiles it
 * shares: an extension in the registry. The process must be permitted to use AMX, and the CPU must have AMX-BF16 and
 * AVX512_BF16, or AMX-INT8.
 *
 * The head of each file of the extension: its target, the vector layer, tiles, and where a thread begins and ends to
 * use them. A file that needs more than its CPU has otherwise defines FOVEA_AMX_MORE first, as further features of
 * the target. */
#ifndef FOVEA_ARCH_AMX_AMX_H
#define FOVEA_ARCH_AMX_AMX_H

#ifndef FOVEA_AMX_MORE
#define FOVEA_AMX_MORE ""
#endif

#define FOVEA_ISA  amx
#define FOVEA_BASE avx512
/* clang-format off */
#define FOVEA_TARGET                                                                                               \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,amx-tile,amx-bf16,amx-int8" FOVEA_AMX_MORE)))
/* clang-format on */
#include "../avx512/tiles.h"
#include "../avx512/vector.h"
#include "../kernels.h"
#include "tiles.h"

extern const fovea_arithmetic fovea_bf16_amx, fovea_int8_amx;

/* Up to `count` numbers of a row; 0 after the last. */
FOVEA_INLINE vec amx_load_some(const float *p, int64_t count) {
  return count >= LANES ? vec_load(p) : vec_load_first(p, count > 0 ? (int)count : 0);
}

FOVEA_KERNEL static void amx_begin(void) {
  tiles_begin();
}

FOVEA_KERNEL static void amx_end(void) {
  _tile_release();
}

#endif
