/* Register tiles of layers: two panels beside three rows take twelve of sixteen registers. */
#ifndef FOVEA_ARCH_AVX2_NN_TILES_H
#define FOVEA_ARCH_AVX2_NN_TILES_H

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 2
#define FOVEA_NN_TILE_ROWS     3

/* bf16 mode: twelve sums, two vectors of weights, a number of x and a mask are all registers. */
#define FOVEA_NN_BF16_READS_AGAIN

/* Many rows: twelve of sixteen registers. Sums of a task take 196 KB, beside 512 KB of second-level cache. */
#define FOVEA_NN_MANY_VECTORS     2
#define FOVEA_NN_MANY_ROWS        6
#define FOVEA_NN_MANY_LEAST       4
#define FOVEA_NN_MANY_TILES(TILE) TILE(4) TILE(6)
#define FOVEA_NN_MANY_WEIGHTS     (1 << 14)
#define FOVEA_NN_TASK_TILES       16
#define FOVEA_NN_TASK_OUTS        512

/* Few rows and quantised weights. */
#define FOVEA_NN_CODED_VECTORS 2
#define FOVEA_NN_CODED_ROWS    2

#endif
