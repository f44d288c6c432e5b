/* Tile sizes of AVX2: 16 registers. */
#ifndef FOVEA_ARCH_AVX2_TILES_H
#define FOVEA_ARCH_AVX2_TILES_H

#ifndef FOVEA_TILE_VECTORS
#define FOVEA_TILE_VECTORS   2
#define FOVEA_SCORE_KEYS_2   6
#define FOVEA_SCORE_KEYS_1   6
#define FOVEA_VALUE_DIMS_2   6
#define FOVEA_VALUE_DIMS_1   6
#define FOVEA_SOFTMAX_CHAINS 2
#define FOVEA_BLOCK_TILES    16
#define FOVEA_PANEL_ALWAYS   1
#endif

#endif
