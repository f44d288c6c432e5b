/* Register tiles of layers: a panel beside four rows takes sixteen of 32 registers, and four more hold the rows'
 * elements. */
#ifndef FOVEA_ARCH_NEON_NN_TILES_H
#define FOVEA_ARCH_NEON_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS 4
#define FOVEA_NN_TILE_ROWS    4

/* Many rows: 24 of 32 registers. Sums of a task take 196 KB, beside 512 KB of second-level cache. */
#define FOVEA_NN_MANY_LOADS_LATE  /* of the second dim of an iteration; else gcc keeps two sums on the stack */
#define FOVEA_NN_MANY_VECTORS     4
#define FOVEA_NN_MANY_ROWS        6
#define FOVEA_NN_MANY_LEAST       4
#define FOVEA_NN_MANY_TILES(TILE) TILE(4) TILE(6)
#define FOVEA_NN_MANY_WEIGHTS     (1 << 14)
#define FOVEA_NN_TASK_TILES       16
#define FOVEA_NN_TASK_OUTS        512

/* Few rows and quantised weights. */
#define FOVEA_NN_CODED_VECTORS 4
#define FOVEA_NN_CODED_ROWS    2

#endif
