/* Register tiles of layers: two panels beside three rows take twelve of sixteen registers. */
#ifndef FOVEA_ARCH_AVX2_NN_TILES_H
#define FOVEA_ARCH_AVX2_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 2
#define FOVEA_NN_TILE_ROWS     3

#endif
