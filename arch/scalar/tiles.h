/* Tile sizes of portable C. */
#ifndef FOVEA_ARCH_SCALAR_TILES_H
#define FOVEA_ARCH_SCALAR_TILES_H

#ifndef FOVEA_TILE_VECTORS
#define FOVEA_TILE_VECTORS   4
#define FOVEA_SCORE_KEYS_4   4
#define FOVEA_SCORE_KEYS_3   4
#define FOVEA_SCORE_KEYS_2   4
#define FOVEA_SCORE_KEYS_1   4
#define FOVEA_VALUE_DIMS_4   4
#define FOVEA_VALUE_DIMS_3   4
#define FOVEA_VALUE_DIMS_2   4
#define FOVEA_VALUE_DIMS_1   4
#define FOVEA_SOFTMAX_CHAINS 1
#define FOVEA_BLOCK_TILES    16
#define FOVEA_PANEL_ALWAYS   0
#endif

#endif
