/* Register tiles of layers: a panel beside four rows takes sixteen of 32 registers, and four more hold the rows'
 * elements. */
#ifndef FOVEA_ARCH_NEON_NN_TILES_H
#define FOVEA_ARCH_NEON_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS 4
#define FOVEA_NN_TILE_ROWS    4

#endif
