/* The arrays in a worker's scratch. */
#ifndef FOVEA_SRC_RUN_SCRATCH_H
#define FOVEA_SRC_RUN_SCRATCH_H

#include "../plan/plan.h"
#include "spans.h"

/* The arrays of one row tile that live as long as its task. */
typedef struct fovea_tile_memory {
  float *queries;        /* [qk_dim][row] */
  float *query_operands; /* of the scores' arithmetic, if it is not exact mode's */
  float *pairs;          /* [(qk_dim + 1) / 2][row], if the plan is paired */
  float *own;            /* arrays of features, fovea_tile_array() */
  fovea_span_tree tree;
} fovea_tile_memory;

/* The arrays that the tiles of a task use in turn. */
typedef struct fovea_block_memory {
  struct fovea_tile *tiles;             /* of the task, from its first on */
  float *scores;                        /* [FOVEA_BLOCK_KEYS][row] */
  float *partial;                       /* [v_dim][row] */
  float *panel;                         /* values of one block, packed by pack_values() */
  float *keys;                          /* keys of one block, row by row, fovea_copied_stride() apart */
  float *values;                        /* the values of a block as f32, if they are not f32 */
  float *key_operands, *value_operands; /* of one block, of another arithmetic than exact mode's */
  int8_t *codes, *value_codes;          /* rows of one block as codes, a multiple of 16 bytes apart */
  float *maxima;                        /* [row], like the five below */
  float *unused;                        /* maxima of scores before they are adjusted; not used */
  float *block_sum;
  float *old_part;
  float *new_part;
  float *spread;     /* of a part's state, if the entropy is wanted */
  char *mask;        /* [row][FOVEA_BLOCK_KEYS], copied elements of a mask */
  float *row_scores; /* [row][FOVEA_BLOCK_KEYS], if a top_k or column sums are wanted */
  float *gather;     /* outputs of rows that are gathered, fovea_gather_stride() apart */
  float *own;        /* arrays of features, fovea_block_array() */
} fovea_block_memory;

/* The arrays of a tile that is decoded, each [row][...]. Rows are a multiple of 16 floats apart. */
typedef struct fovea_decode_memory {
  float *queries; /* fovea_decode_stride() apart, like outputs and partial */
  float *scores;  /* [row][FOVEA_BLOCK_KEYS] */
  float *output;  /* of the current span */
  float *partial;
  fovea_code_list *key_codes, *value_codes; /* in int8: of the current block */
} fovea_decode_memory;

/* The arrays that a feature has in scratch, FOVEA_SCRATCH_<NAME>: one that the tiles of a task use in turn, and one
 * of a tile. */
static inline float *fovea_block_array(const fovea_plan *plan, const fovea_block_memory *memory, int place) {
  return memory->own + plan->own_scratch.in_block[place];
}
static inline float *fovea_tile_array(const fovea_plan *plan, const fovea_tile_memory *memory, int place) {
  return memory->own + plan->own_scratch.in_tile[place];
}

/* The keys that each row of a tile has seen so far, if the divisor counts them. */
static inline int64_t *fovea_seen_counts(const fovea_plan *plan, const fovea_tile_memory *memory) {
  return (int64_t *)(void *)fovea_tile_array(plan, memory, FOVEA_SCRATCH_NORMALISER);
}

void fovea_scratch_block(const fovea_plan *plan, void *worker_scratch, fovea_block_memory *memory);
/* The arrays of a tile of a task, 0 to block_tiles - 1. */
void fovea_scratch_tile(const fovea_plan *plan, void *worker_scratch, int tile, fovea_tile_memory *memory);
/* The scores of a tile that is decoded, and all its arrays. */
float *fovea_scratch_decode_scores(const fovea_plan *plan, void *worker_scratch);
fovea_decode_memory fovea_scratch_decode(const fovea_plan *plan, void *worker_scratch);

#endif
