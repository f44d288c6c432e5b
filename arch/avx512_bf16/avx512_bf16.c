/* The table of AVX-512 with products of pairs of bf16. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512_BF16
#define FOVEA_ISA  avx512_bf16
#define FOVEA_BASE avx512
#include "../avx512/tiles.h"
#include "pair_layer.h"

#define FOVEA_SCORE_PAIRS
#include "../shared/pairs.h"
#include "../shared/score.h"

#include "../shared/table.h"
#endif
