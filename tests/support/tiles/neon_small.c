/* NEON with the smallest tiles. */
#include "arch/targets.h"
#ifdef FOVEA_ARCH_AARCH64
#define FOVEA_ISA            neon_small
#define FOVEA_TILE_VECTORS   1
#define FOVEA_SCORE_KEYS_1   1
#define FOVEA_VALUE_DIMS_1   4
#define FOVEA_SOFTMAX_CHAINS 1
#define FOVEA_BLOCK_TILES    1
#define FOVEA_PANEL_ALWAYS   0
#include "arch/neon/vector.h"

#include "arch/features.h"
#define FOVEA_FEATURES FOVEA_CPU_NEON
#include "bodies.h"
#endif
