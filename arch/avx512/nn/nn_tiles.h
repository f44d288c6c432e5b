/* Register tiles of layers: four panels beside six rows take 24 of 32 registers. */
#ifndef FOVEA_ARCH_AVX512_NN_TILES_H
#define FOVEA_ARCH_AVX512_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 1
#define FOVEA_NN_TILE_ROWS     6

/* Many rows: 28 of 32 registers. Sums of a task take 602 KB, beside 2 MB or 1 MB of second-level cache. Many
 * outputs rather than many rows: rows are packed for each block of outputs. */
#define FOVEA_NN_MANY_VECTORS     2
#define FOVEA_NN_MANY_ROWS        14
#define FOVEA_NN_MANY_LEAST       8
#define FOVEA_NN_MANY_LAST_ROWS   6
#define FOVEA_NN_MANY_TILES(TILE) TILE(8) TILE(10) TILE(12) TILE(14)
#define FOVEA_NN_MANY_WEIGHTS     (1 << 14)
#define FOVEA_NN_TASK_TILES       7
#define FOVEA_NN_TASK_OUTS        1536

/* Few rows and quantised weights. */
#define FOVEA_NN_CODED_VECTORS       4
#define FOVEA_NN_CODED_SPARE_VECTORS 1
#define FOVEA_NN_CODED_ROWS          4

#endif
