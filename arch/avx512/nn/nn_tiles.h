/* Register tiles of layers: four panels beside six rows take 24 of 32 registers. Two panels beside eight rows take 16, and
 * the eight rows of a copy of x are one tile: six and two of them took 1.05 times as long. */
#ifndef FOVEA_ARCH_AVX512_NN_TILES_H
#define FOVEA_ARCH_AVX512_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 1
#define FOVEA_NN_TILE_ROWS     6
#define FOVEA_NN_BOTH_ROWS     8

#endif
