/* A table with tiles of odd sizes, larger than registers hold, for the instruction set whose layers are
 * VECTOR_LAYER and INT8_LAYER. CMake defines FOVEA_ISA as <isa>_other. */
#include VECTOR_LAYER

#define FOVEA_TILE_VECTORS 4
#define FOVEA_SCORE_KEYS_4 5
#define FOVEA_SCORE_KEYS_2 3
#define FOVEA_SCORE_KEYS_1 16
#ifdef FOVEA_VECTOR_SCALARS_IN_FOURS
#define FOVEA_VALUE_DIMS_4 4
#else
#define FOVEA_VALUE_DIMS_4 5
#endif
#define FOVEA_VALUE_DIMS_2   12
#define FOVEA_VALUE_DIMS_1   16
#define FOVEA_SOFTMAX_CHAINS 2
#define FOVEA_BLOCK_TILES    5
#define FOVEA_PANEL_TILES    4
#define FOVEA_PACE           10000
#define FOVEA_BF16_VECTORS   4
#define FOVEA_BF16_NUMBERS_4 9
#define FOVEA_BF16_NUMBERS_3 5
#define FOVEA_BF16_NUMBERS_2 7
#define FOVEA_BF16_NUMBERS_1 16
#define FOVEA_REGISTERS      1
#include "decode.h"

#include INT8_LAYER

#include "arch/shared/bodies.h"
