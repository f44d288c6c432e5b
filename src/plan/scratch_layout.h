/* The sizes of the arrays in a worker's scratch, computed once for each plan. */
#ifndef FOVEA_SRC_PLAN_SCRATCH_LAYOUT_H
#define FOVEA_SRC_PLAN_SCRATCH_LAYOUT_H

#include "../../arch/kernels.h"

#include "../feature/list.h"

/* Where arrays of features begin, by FOVEA_SCRATCH_<NAME>, counted from the first of them. */
typedef struct fovea_scratch_places {
  uint64_t in_block[FOVEA_SCRATCH_PLACES], in_tile[FOVEA_SCRATCH_PLACES]; /* that tiles share, and of each tile */
  uint64_t block, tile;                                                   /* all of them */
} fovea_scratch_places;

/* Counts of floats, each a multiple of 64 bytes. They have 64 bits, since with the largest dims they do not fit in
 * a size_t of 32 bits. */
typedef struct fovea_scratch_layout {
  uint64_t row;                          /* one number for each row of a tile */
  uint64_t queries, pairs;               /* of a tile; pairs: 0 if the plan has none */
  uint64_t scores, output;               /* of a tile and a block; of a tile */
  uint64_t panel, keys, values;          /* copies of one block */
  uint64_t query_operands;               /* of a tile, for another arithmetic than exact mode's; else 0 */
  uint64_t key_operands, value_operands; /* of one block, as above */
  uint64_t codes;               /* rows of one block quantised as int8 mode does, if rows may lie in formats */
  uint64_t mask;                /* copy of a block's mask, 0 if none is needed */
  uint64_t gather;              /* outputs of rows that are gathered; 0 if none are */
  uint64_t decode, decode_rows; /* arrays of a tile that is decoded; the rows that they have room for */
  uint64_t row_scores;          /* of a tile and a block, row by row, for outputs that take a row's keys in turn */
  uint64_t tiles;               /* what a task keeps of its tiles, FOVEA_TILE_FLOATS each */
  uint64_t state;               /* of a tile: maximum, sum, output */
  uint64_t block, tile;         /* all arrays that tiles share; all arrays of one tile */
} fovea_scratch_layout;

/* Floats in whole cache lines. */
uint64_t fovea_whole_lines(uint64_t floats);

/* Elements from row to row of a copy in scratch. It is an odd number of cache lines, so that the rows of a block do
 * not crowd a few sets of the cache. */
int64_t fovea_copied_stride(int64_t dim);

/* Elements from row to row of queries and outputs in decoding: whole vectors. */
static inline int64_t fovea_decode_stride(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

/* The rows that are gathered before their results are written, and the floats from one to the next: each has
 * outputs for the states that wait. */
enum { FOVEA_GATHER_ROWS = 16 };
int64_t fovea_gather_stride(int states, int64_t v_dim);

/* Floats for the numbers of one position term: of all rows of a tile and all keys of a block, and some more. There
 * is as much for what the terms hide. */
uint64_t fovea_term_floats(const fovea_kernels *kernels);

/* The rows of a block as codes and scales, one pointer for each key, as in a fovea_row_list. */
typedef struct fovea_code_list {
  const void *const *rows; /* of the list, or: */
  const void *gathered[FOVEA_BLOCK_KEYS];
  int panels; /* 1: keys in panels, where they lie */
  float scales[FOVEA_DECODE_SCALES];
} fovea_code_list;

/* Floats of a fovea_code_list. */
uint64_t fovea_code_list_floats(void);

/* Floats for a part of a table of a GRID. */
enum { FOVEA_GRID_FLOATS = 2048 };

/* The bytes of `floats` floats; SIZE_MAX, which no allocation has, if a size_t has no room for them. */
size_t fovea_bytes_of(uint64_t floats);

/* A cell: one head and one block of keys. It has the sums of all rows, sixteen sums of a block of rows, and that
 * block's number. */
enum { FOVEA_COLUMN_CELL = (1 + FOVEA_WEIGHT_SUMS) * FOVEA_BLOCK_KEYS + 16 };

/* The blocks of keys of a task that sums columns: few for many heads of a kv head. */
int64_t fovea_column_blocks(const fovea_problem *problem);

/* Floats of a fovea_tile: its rows, what they see, where its arrays lie. They are not on the stack. */
enum { FOVEA_TILE_FLOATS = 1344 };

/* Floats of the lists of a tile's rows; their candidates follow. */
uint64_t fovea_top_rows_floats(const fovea_kernels *kernels);

/* The candidates of a row: scores, then keys. */
uint64_t fovea_top_list_floats(int64_t k);

#endif
