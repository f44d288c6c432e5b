/* Register tiles of layers: four panels beside six rows take 24 of 32 registers. */
#ifndef FOVEA_ARCH_AVX512_NN_TILES_H
#define FOVEA_ARCH_AVX512_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 1
#define FOVEA_NN_TILE_ROWS     6

#endif
