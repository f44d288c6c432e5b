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
#define FOVEA_CPU_NEON      (UINT64_C(1) << 8)
#define FOVEA_CPU_NEON_BF16 (UINT64_C(1) << 9)  /* BFMLALB, BFMLALT */
#define FOVEA_CPU_NEON_FHM  (UINT64_C(1) << 10) /* FMLAL, FMLAL2 */

#endif
