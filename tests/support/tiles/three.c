/* A table with tiles of three vectors, for the instruction set whose layers are VECTOR_LAYER and INT8_LAYER. CMake
 * defines FOVEA_ISA as <isa>_other. */
#include VECTOR_LAYER

#define FOVEA_TILE_VECTORS 3
#define FOVEA_SCORE_KEYS_3 7
#define FOVEA_SCORE_KEYS_2 5
#define FOVEA_SCORE_KEYS_1 3
#ifdef FOVEA_VECTOR_SCALARS_IN_FOURS
#define FOVEA_VALUE_DIMS_3 8
#define FOVEA_VALUE_DIMS_2 4
#else
#define FOVEA_VALUE_DIMS_3 7
#define FOVEA_VALUE_DIMS_2 5
#endif
#define FOVEA_VALUE_DIMS_1   4
#define FOVEA_SOFTMAX_CHAINS 4
#define FOVEA_BLOCK_TILES    7
#define FOVEA_PANEL_TILES    0
#define FOVEA_PACE           10000
#define FOVEA_BF16_VECTORS   3
#define FOVEA_BF16_NUMBERS_3 3
#define FOVEA_BF16_NUMBERS_2 2
#define FOVEA_BF16_NUMBERS_1 5
#define FOVEA_REGISTERS      1000
#include "decode.h"

#include INT8_LAYER

#include "arch/shared/bodies.h"
