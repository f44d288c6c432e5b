/* AVX-512 with tiles of odd sizes. */
#include "arch/targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA            avx512_odd
#define FOVEA_TILE_VECTORS   4
#define FOVEA_SCORE_KEYS_4   5
#define FOVEA_SCORE_KEYS_2   3
#define FOVEA_SCORE_KEYS_1   16
#define FOVEA_VALUE_DIMS_4   5
#define FOVEA_VALUE_DIMS_2   12
#define FOVEA_VALUE_DIMS_1   16
#define FOVEA_SOFTMAX_CHAINS 2
#define FOVEA_BLOCK_TILES    5
#define FOVEA_PANEL_ALWAYS   1
#include "arch/avx512/vector.h"

#include "arch/features.h"
#define FOVEA_FEATURES FOVEA_CPU_AVX512
#include "bodies.h"
#endif
