/* The mode bf16 by products of pairs. */
#include "../targets.h"
#if defined(FOVEA_ARCH_X86_64_AVX512_BF16) && FOVEA_BUILDS_BF16
#define FOVEA_ISA  avx512_bf16
#define FOVEA_BASE avx512

/* Two vectors by four keys reach 97 % of VDPBF16PS's rate on Zen 4, and their sums stay in registers. */
#define FOVEA_BF16_VECTORS   3
#define FOVEA_BF16_NUMBERS_3 2
#define FOVEA_BF16_NUMBERS_2 4
#define FOVEA_BF16_NUMBERS_1 4
#include "../avx512/tiles.h"
#include "pair_layer.h"

#include "../shared/bf16_pairs.h"
#endif
