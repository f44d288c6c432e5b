/* What a kernel table may need of the CPU: src/system/cpu.c finds out which bits hold. */
#ifndef FOVEA_ARCH_FEATURES_H
#define FOVEA_ARCH_FEATURES_H

#include <stdint.h>

/* A bit is set only when the instructions exist and the operating system saves the registers they need. */
#define FOVEA_CPU_AVX2        (UINT64_C(1) << 0)
#define FOVEA_CPU_FMA         (UINT64_C(1) << 1)
#define FOVEA_CPU_F16C        (UINT64_C(1) << 2)
#define FOVEA_CPU_AVX512      (UINT64_C(1) << 3) /* F, BW, DQ and VL together */
#define FOVEA_CPU_AVX512_BF16 (UINT64_C(1) << 4)
/* VDPBF16PS takes no longer than an FMA. Intel's cores take four times as long (Granite Rapids: one every two
 * cycles, against two FMAs a cycle). */
#define FOVEA_CPU_FAST_BF16 (UINT64_C(1) << 5)
/* AVX2's tiles gain nothing by a copy of V in panels. So it is on AMD's cores: V as it lies is 2 to 5 % faster on a
 * Zen 5, and on a Zen 3 it makes no difference. Intel's gain by the copy (Granite Rapids, S 2048, D 128, tiles of
 * 2 x 6: 0.79 to 0.83 of the FMA peak). The size of the first cache does not tell them apart: 48, 32 and 48 KB. */
#define FOVEA_CPU_READS_ROWS (UINT64_C(1) << 6)
#define FOVEA_CPU_NEON       (UINT64_C(1) << 8)
#define FOVEA_CPU_NEON_BF16  (UINT64_C(1) << 9)  /* BFMLALB, BFMLALT */
#define FOVEA_CPU_NEON_FHM   (UINT64_C(1) << 10) /* FMLAL, FMLAL2 */

#endif
