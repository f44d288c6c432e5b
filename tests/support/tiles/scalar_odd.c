/* Portable C with tiles of odd sizes. */
#define FOVEA_ISA            scalar_odd
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
#include "arch/scalar/vector.h"

#include "arch/features.h"
#define FOVEA_FEATURES 0
#include "bodies.h"
