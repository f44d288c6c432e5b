/* Tile sizes of NEON: 32 registers, scalars in fours. */
#ifndef FOVEA_ARCH_NEON_TILES_H
#define FOVEA_ARCH_NEON_TILES_H

#ifndef FOVEA_TILE_VECTORS
#define FOVEA_TILE_VECTORS   4
#define FOVEA_SCORE_KEYS_4   4
#define FOVEA_SCORE_KEYS_3   6
#define FOVEA_SCORE_KEYS_2   8
#define FOVEA_SCORE_KEYS_1   8
#define FOVEA_VALUE_DIMS_4   4
#define FOVEA_VALUE_DIMS_3   8
#define FOVEA_VALUE_DIMS_2   8
#define FOVEA_VALUE_DIMS_1   8
#define FOVEA_SOFTMAX_CHAINS 4
#define FOVEA_BLOCK_TILES    16
#define FOVEA_PANEL_ALWAYS   1
#endif

#define FOVEA_DECODE_ROWS      3
#define FOVEA_DECODE_VECTORS_4 4
#define FOVEA_DECODE_VECTORS_2 8
#define FOVEA_DECODE_VECTORS_1 8

#endif
