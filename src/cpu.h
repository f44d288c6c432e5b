/* What the CPU and the operating system let a process use. */
#ifndef FOVEA_SRC_CPU_H
#define FOVEA_SRC_CPU_H

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

uint64_t fovea_cpu_features(void);

enum { FOVEA_CPU_NAME_SIZE = 64 };
/* The CPU's own name where it has one, else its architecture. */
void fovea_cpu_name(char name[FOVEA_CPU_NAME_SIZE]);

#endif
