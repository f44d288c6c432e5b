/* Tile sizes of NEON: 32 registers, scalars in fours. */
#ifndef FOVEA_ARCH_NEON_TILES_H
#define FOVEA_ARCH_NEON_TILES_H

#ifndef FOVEA_TILE_VECTORS
#define FOVEA_TILE_VECTORS   4
#define FOVEA_SCORE_KEYS_4   4
#define FOVEA_SCORE_KEYS_2   8
#define FOVEA_SCORE_KEYS_1   8
#define FOVEA_VALUE_DIMS_4   4
#define FOVEA_VALUE_DIMS_2   8
#define FOVEA_VALUE_DIMS_1   8
#define FOVEA_SOFTMAX_CHAINS 4
#define FOVEA_BLOCK_TILES    16
#define FOVEA_PANEL_TILES    4
#define FOVEA_REGISTERS      32
#define FOVEA_BF16_VECTORS   2
#define FOVEA_BF16_NUMBERS_2 4
#define FOVEA_BF16_NUMBERS_1 4
#endif

#define FOVEA_PACE                 20000 /* by llvm-mca 2 FMLA a cycle on most cores */
#define FOVEA_VALUE_FETCH_ROWS     0
#define FOVEA_DECODE_ROWS          3
#define FOVEA_DECODE_KEY_VECTORS_8 0
#define FOVEA_DECODE_KEY_VECTORS_4 4
#define FOVEA_DECODE_KEY_VECTORS_2 4
#define FOVEA_DECODE_KEY_VECTORS_1 8
#define FOVEA_DECODE_VECTORS_8     0
#define FOVEA_DECODE_VECTORS_4     4
#define FOVEA_DECODE_VECTORS_2     8
#define FOVEA_DECODE_VECTORS_1     8
#define FOVEA_DECODE_CODES         1

#endif
