/* The CPU features that a kernel table may need. src/system/cpu.c finds out which bits are set. */
#ifndef FOVEA_ARCH_FEATURES_H
#define FOVEA_ARCH_FEATURES_H

#include <stdint.h>

/* A bit is set only if the CPU has the instructions and the operating system saves their registers. */
#define FOVEA_CPU_AVX2        (UINT64_C(1) << 0)
#define FOVEA_CPU_FMA         (UINT64_C(1) << 1)
#define FOVEA_CPU_F16C        (UINT64_C(1) << 2)
#define FOVEA_CPU_AVX512      (UINT64_C(1) << 3) /* F, BW, DQ and VL together */
#define FOVEA_CPU_AVX512_BF16 (UINT64_C(1) << 4)
/* VDPBF16PS takes no longer than an FMA. On Intel's cores it takes four times as long (Granite Rapids: one every
 * two cycles, but two FMAs a cycle). */
#define FOVEA_CPU_FAST_BF16 (UINT64_C(1) << 5)
/* AVX2's tiles gain nothing from a copy of V in panels. The bit is set on AMD's cores: without the copy, a Zen 5 is
 * 2 to 5 % faster and a Zen 3 equally fast. Intel's cores gain from the copy (Granite Rapids, S 2048, D 128, tiles
 * of 2 x 6: 0.79 to 0.83 of the FMA peak). The size of L1 does not tell them apart: 48, 32 and 48 KB. */
#define FOVEA_CPU_READS_ROWS  (UINT64_C(1) << 6)
#define FOVEA_CPU_AMX_BF16    (UINT64_C(1) << 7) /* AMX-TILE and AMX-BF16 */
#define FOVEA_CPU_NEON        (UINT64_C(1) << 8)
#define FOVEA_CPU_NEON_BF16   (UINT64_C(1) << 9)  /* BFMLALB, BFMLALT */
#define FOVEA_CPU_NEON_FHM    (UINT64_C(1) << 10) /* FMLAL, FMLAL2 */
#define FOVEA_CPU_AVX512_VNNI (UINT64_C(1) << 11) /* VPDPBUSD of 512 bits */
#define FOVEA_CPU_AVX_VNNI    (UINT64_C(1) << 12) /* VPDPBUSD of 256 bits, without AVX-512 */
#define FOVEA_CPU_NEON_DOT    (UINT64_C(1) << 13) /* SDOT, UDOT */
#define FOVEA_CPU_NEON_I8MM   (UINT64_C(1) << 14) /* SMMLA, USMMLA */
#define FOVEA_CPU_AMX_INT8    (UINT64_C(1) << 15) /* AMX-INT8, beside AMX-TILE and AMX-BF16 */
/* The CPU sees rows of codes coming that lie one after the other, even if sixteen are read side by side;
 * prefetches would only fill its line buffers. The bit is set on Intel's cores (Xeon with AMX, int8 decoding from
 * L3: 21 ns a key without prefetches, 24 with). AMD's need them (Zen 4: 51 ns without, 19 with). */
#define FOVEA_CPU_FOLLOWS_ROWS (UINT64_C(1) << 16)

#endif
