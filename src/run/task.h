/* What the steps of a task share, from the tile driver down to the calls of kernels. Steps take what they need of
 * it: only steps that go through a whole block, or make one of its parts, take the context. */
#ifndef FOVEA_SRC_RUN_TASK_H
#define FOVEA_SRC_RUN_TASK_H

#include "../plan/tiles.h"
#include "../visible/visible_block.h"
#include "rows.h"
#include "scratch.h"
#include "spans.h"

/* The forms in which queries and keys are multiplied, as bits. */
enum {
  FOVEA_FORM_F32 = 1,
  FOVEA_FORM_PAIRS = 2, /* pairs of a half type, score_pairs() */
};

/* Where the scores of a tile and a block lie, and all numbers that are laid out like them. */
typedef struct fovea_score_layout {
  float *scores;
  int64_t row_step, key_step;
  int rows; /* that have scores: with padding, if rows lie in the lanes */
} fovea_score_layout;

/* Whether rows lie in the lanes; else keys do. */
static inline int fovea_rows_lie_in_lanes(const fovea_score_layout *layout) {
  return layout->row_step == 1;
}

typedef struct fovea_tile {
  fovea_tile_rows rows;
  fovea_row_place places[FOVEA_ROW_TILE_LIMIT];
  const void *queries[FOVEA_ROW_TILE_LIMIT]; /* rows of Q; not set if the tile sees nothing */
  void *outputs[FOVEA_ROW_TILE_LIMIT];       /* rows of O; not set if the result is a state */
  fovea_visible_tile visible;
  fovea_interval keys; /* that some row sees, also in other parts of the keys than the task's */
  int64_t kept;        /* scores are kept up to this key, if they are wanted */
  int scored;          /* scores of some row are wanted */
  fovea_tile_memory memory;
  fovea_score_layout layout;
  int64_t block;  /* the next block that the tile meets, after the current one; FOVEA_NO_BLOCK: none */
  int64_t span;   /* the span of the current state; -1: none yet */
  unsigned forms; /* forms of the loaded queries; 0: none, the first block is still to come */
} fovea_tile;

/* The current block of keys, and where its rows are read: in the caller's tensors, or in scratch. Pointers name the
 * row of the block's first key. */
typedef struct fovea_block_rows {
  int64_t base;       /* position of the first key */
  fovea_interval met; /* keys that the task meets, counted from the first */
  int tiles;          /* how many share it */
  unsigned key_forms; /* forms that the keys can be read in; 0: nothing here is set yet */
  const char *pairs;  /* the keys as pairs, problem.k_strides apart */
  const float *keys, *values;
  int64_t key_stride, value_stride;
  int packed; /* the values are in the panel, too */
  int finite; /* whether all values are finite; -1: not known yet */
} fovea_block_rows;

/* What decoding keeps from block to block. The arrays below have a number for each row. */
typedef struct fovea_decode_state {
  fovea_decode_memory memory;
  float query_scales[FOVEA_DECODE_ROWS_LIMIT], query_starts[FOVEA_DECODE_ROWS_LIMIT];
  fovea_row_list keys[2], values[2]; /* of this block and of the next one */
  const void *key_scales[2][FOVEA_BLOCK_KEYS], *value_scales[2][FOVEA_BLOCK_KEYS];
  int slot; /* index of this block's */
  float row_max[FOVEA_DECODE_ROWS_LIMIT], row_sum[FOVEA_DECODE_ROWS_LIMIT];
  float row_spread[FOVEA_DECODE_ROWS_LIMIT]; /* if the entropy is wanted */
  float block_max[FOVEA_DECODE_ROWS_LIMIT], block_sum[FOVEA_DECODE_ROWS_LIMIT];
  float old_part[FOVEA_DECODE_ROWS_LIMIT], new_part[FOVEA_DECODE_ROWS_LIMIT];
} fovea_decode_state;

/* How far the task is: the current block and tile, and the next ones, walk.h. */
typedef struct fovea_walk {
  int64_t keys_begin, keys_end; /* of the keys that the task meets */
  int64_t block, next_block;    /* positions; FOVEA_NO_BLOCK: none */
  fovea_tile *meeting[FOVEA_TASK_TILES_LIMIT];
  int tile, tiles;             /* index of the current tile in `meeting`; how many tiles meet the block */
  int first;                   /* the current tile is the first tile in the first block of the task */
  const fovea_tile *next_tile; /* the tile after the current one, in this block or in the next; NULL: none */
  int64_t next_tile_block;     /* its block */
  const fovea_tile *unloaded;  /* next_tile, if its queries are to be loaded in this block; else NULL */
} fovea_walk;

/* What products of the entry's rows are multiplied by, if heads or rows have scales of their own; NULL: none. */
typedef struct fovea_row_scales {
  const fovea_problem *problem;
  const double *heads, *rows; /* by head; by row of the entry */
} fovea_row_scales;

/* The terms that differ from row to row: the caller's tables, and room for the numbers of a tile and a block. */
typedef struct fovea_row_terms {
  const fovea_plan *plan;
  const fovea_visibility *by;           /* the entry and the kv head */
  const float *const *numbers;          /* of position terms, positions.h */
  float *room;                          /* for these */
  fovea_row_scales scales;              /* row_scales.h */
  const float *shaw_keys, *shaw_values; /* shaw_distances.h */
  float *shaw_room;                     /* for these */
} fovea_row_terms;

/* The channel numbers of int8 mode for the kv head, vectors.h; NULL: there are none. */
typedef struct fovea_channel_scales {
  const float *key_centre, *key_scale, *value_scale;
} fovea_channel_scales;

/* The keys of the block at `base` that the task meets, counted from the block's first. */
static inline fovea_interval fovea_met_keys(const fovea_walk *walk, int64_t base) {
  int64_t begin = walk->keys_begin - base, end = walk->keys_end - base;
  return (fovea_interval){begin > 0 ? begin : 0, end < FOVEA_BLOCK_KEYS ? end : FOVEA_BLOCK_KEYS};
}

struct fovea_engine;

/* Points into itself and must not be copied. */
typedef struct fovea_task_context {
  const fovea_plan *plan;
  const fovea_kernels *kernels;
  const fovea_task *task;
  const fovea_tensors *tensors;
  float *shared;                     /* scratch after the scratch of the workers, of a plan with parts */
  const struct fovea_engine *engine; /* that computes the task, engine.h */
  fovea_visibility visibility;
  fovea_block_memory memory;
  fovea_row_source keys, values;
  fovea_row_terms terms;
  fovea_channel_scales channels;
  fovea_walk walk;
  fovea_block_rows block;
  fovea_decode_state *decode; /* of engines with keys in the lanes; else NULL */
} fovea_task_context;

/* The first element of a row. Packed tensors have no batch axis. */
static inline int64_t fovea_tensor_offset(fovea_strides strides, const fovea_entry *entry, int packed, int64_t head,
                                          int64_t row) {
  return (packed ? 0 : entry->batch * strides.batch) + head * strides.head + row * strides.row;
}

/* The first element of a row of Q, O, LSE or a state. */
static inline int64_t fovea_place_offset(const fovea_problem *problem, const fovea_entry *entry,
                                         fovea_strides strides, fovea_row_place place) {
  int packed = problem->cu_seqlens_q != NULL;
  return fovea_tensor_offset(strides, entry, packed, place.head, entry->q_first + place.row);
}

#endif
