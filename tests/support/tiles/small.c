/* A table with the smallest tiles, for the instruction set whose layers are VECTOR_LAYER and INT8_LAYER. CMake
 * defines FOVEA_ISA as <isa>_other. */
#include VECTOR_LAYER

#define FOVEA_TILE_VECTORS 1
#define FOVEA_SCORE_KEYS_1 1
#ifdef FOVEA_VECTOR_SCALARS_IN_FOURS
#define FOVEA_VALUE_DIMS_1 4
#else
#define FOVEA_VALUE_DIMS_1 1
#endif
#define FOVEA_SOFTMAX_CHAINS 1
#define FOVEA_BLOCK_TILES    1
#define FOVEA_PANEL_TILES    0
#define FOVEA_PACE           10000
#define FOVEA_BF16_VECTORS   1
#define FOVEA_BF16_NUMBERS_1 1
#define FOVEA_REGISTERS      1
#include "decode.h"

#include INT8_LAYER

#include "arch/shared/bodies.h"
