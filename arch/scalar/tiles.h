/* Tile sizes of portable C: small if it is only a fallback, larger if there is no other set. */
#ifndef FOVEA_ARCH_SCALAR_TILES_H
#define FOVEA_ARCH_SCALAR_TILES_H

#include "../targets.h"

#if defined(FOVEA_ARCH_X86_64) || defined(FOVEA_ARCH_AARCH64)
#define FOVEA_SCALAR_VECTORS 1
#else
#define FOVEA_SCALAR_VECTORS 4
#endif

#ifndef FOVEA_TILE_VECTORS
#define FOVEA_TILE_VECTORS   FOVEA_SCALAR_VECTORS
#define FOVEA_SCORE_KEYS_4   4
#define FOVEA_SCORE_KEYS_2   4
#define FOVEA_SCORE_KEYS_1   4
#define FOVEA_VALUE_DIMS_4   4
#define FOVEA_VALUE_DIMS_2   4
#define FOVEA_VALUE_DIMS_1   4
#define FOVEA_SOFTMAX_CHAINS 1
#define FOVEA_BLOCK_TILES    16
#define FOVEA_PANEL_TILES    0
#define FOVEA_REGISTERS      16
#define FOVEA_BF16_VECTORS   1
#define FOVEA_BF16_NUMBERS_1 4
#endif

#define FOVEA_PACE                 1000 /* 300 where C emulates FMA */
#define FOVEA_VALUE_FETCH_ROWS     0
#define FOVEA_DECODE_ROWS          4
#define FOVEA_DECODE_KEY_VECTORS_8 0
#define FOVEA_DECODE_KEY_VECTORS_4 1
#define FOVEA_DECODE_KEY_VECTORS_2 2
#define FOVEA_DECODE_KEY_VECTORS_1 2
#define FOVEA_DECODE_VECTORS_8     0
#define FOVEA_DECODE_VECTORS_4     0
#define FOVEA_DECODE_VECTORS_2     0
#define FOVEA_DECODE_VECTORS_1     4
#define FOVEA_DECODE_CODES         1

#endif
