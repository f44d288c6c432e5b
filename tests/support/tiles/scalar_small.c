/* Portable C, one row and one key at a time. */
#define FOVEA_ISA            scalar_small
#define FOVEA_TILE_VECTORS   1
#define FOVEA_SCORE_KEYS_1   1
#define FOVEA_VALUE_DIMS_1   1
#define FOVEA_SOFTMAX_CHAINS 1
#define FOVEA_BLOCK_TILES    1
#define FOVEA_PANEL_ALWAYS   0
#include "arch/scalar/vector.h"

#include "arch/features.h"
#define FOVEA_FEATURES 0
#include "bodies.h"
