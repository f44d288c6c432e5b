/* Register tiles of layers. */
#ifndef FOVEA_ARCH_SCALAR_NN_TILES_H
#define FOVEA_ARCH_SCALAR_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS 4
#define FOVEA_NN_TILE_ROWS    4

/* Few rows and quantised weights. */
#define FOVEA_NN_CODED_VECTORS 4
#define FOVEA_NN_CODED_ROWS    2

#endif
