/* AVX-512 with the smallest tiles. */
#include "arch/targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA            avx512_small
#define FOVEA_TILE_VECTORS   1
#define FOVEA_SCORE_KEYS_1   1
#define FOVEA_VALUE_DIMS_1   1
#define FOVEA_SOFTMAX_CHAINS 1
#define FOVEA_BLOCK_TILES    1
#define FOVEA_PANEL_ALWAYS   0
#include "arch/avx512/vector.h"

#include "arch/features.h"
#define FOVEA_FEATURES FOVEA_CPU_AVX512
#include "bodies.h"
#endif
