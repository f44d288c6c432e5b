/* What the steps of a task share, from the tile driver down to the calls of kernels. */
#ifndef FOVEA_SRC_RUN_TASK_H
#define FOVEA_SRC_RUN_TASK_H

#include "../base/types.h"
#include "../cache/sequences.h"
#include "../plan/tiles.h"
#include "../visible/visible_block.h"
#include "scratch.h"
#include "spans.h"

/* The forms in which queries and keys are multiplied, as bits. */
enum {
  FOVEA_FORM_F32 = 1,
  FOVEA_FORM_PAIRS = 2, /* pairs of a half type, score_pairs() */
};

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
  int64_t block;  /* the next block that the tile meets, behind the current one; FOVEA_NO_BLOCK: none */
  int64_t span;   /* the span of the current state; -1: none yet */
  int decoded;    /* the tile has so few rows that keys lie in the lanes, decode.h */
  unsigned forms; /* forms of the loaded queries; 0: none, the first block is still to come */
} fovea_tile;

/* Where the rows of a block are read: in the caller's tensors, or in scratch. Pointers name the row of the block's
 * first key. */
typedef struct fovea_block_rows {
  unsigned key_forms; /* forms that the keys can be read in; 0: nothing here is set yet */
  const char *pairs;  /* the keys as pairs, problem.k_strides apart */
  const float *keys, *values;
  int64_t key_stride, value_stride;
  int packed; /* the values are in the panel, too */
  int finite; /* whether all values are finite; -1: not known yet */
} fovea_block_rows;

/* The rows of one block, one pointer for each key. Keys that the task does not meet have the pointer of the nearest
 * key that it meets, or, in panels, a pointer in that key's panel. */
typedef struct fovea_row_list {
  int64_t base; /* position of the block's first key; -1: nothing is set */
  int uniform;  /* 0: rows differ in type, layout or format, and nothing below is set */
  fovea_type type;
  int panels;
  int64_t panel_step; /* bytes from a key of a panel to the next */
  const void *rows[FOVEA_BLOCK_KEYS];
  /* Rows of a format that decoding knows: `rows` are their codes. */
  int coded, has_zeros;
  int64_t zeros_at;   /* bytes from a scale to its zero */
  int64_t scale_step; /* as in fovea_coded_keys */
  fovea_codes codes;
  const void **scales;
} fovea_row_list;

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

/* Where the keys and values of the task's entry and kv head lie, rows.h. */
typedef struct fovea_row_source {
  const void *keys, *values;  /* position 0 */
  fovea_sequence sequence;    /* of the entry, instead of tensors; segments is NULL: none */
  int alike;                  /* fovea_run.alike, of a task that has a sequence */
  fovea_found_segment *found; /* two: the segments of keys and of values that were found last */
} fovea_row_source;

/* How far the task is: the current block, the current tile, and those that come next, walk.h. */
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

typedef struct fovea_task_context {
  const fovea_plan *plan;
  const fovea_kernels *kernels;
  const fovea_task *task;
  const fovea_tensors *tensors;
  fovea_visibility visibility;
  float *shared; /* scratch behind that of the workers, of a plan with parts */
  fovea_block_memory memory;
  fovea_row_source source;
  fovea_walk walk;
  fovea_block_rows block;     /* the current block */
  fovea_decode_state *decode; /* of tasks that may decode or gather rows; else NULL */
} fovea_task_context;

/* The arrays that a feature has in scratch, FOVEA_SCRATCH_<NAME>: one that the tiles of a task use in turn, and one
 * of a tile. */
static inline float *fovea_block_array(const fovea_task_context *context, int place) {
  return context->memory.own + context->plan->own_scratch.in_block[place];
}
static inline float *fovea_tile_array(const fovea_plan *plan, const fovea_tile *t, int place) {
  return t->memory.own + plan->own_scratch.in_tile[place];
}

/* The keys that each row of a tile has seen so far, if the divisor counts them. */
static inline int64_t *fovea_seen_counts(const fovea_plan *plan, const fovea_tile *t) {
  return (int64_t *)(void *)fovea_tile_array(plan, t, FOVEA_SCRATCH_NORMALISER);
}

/* The first element of a row. Packed tensors have no batch axis. */
static inline int64_t fovea_tensor_offset(fovea_strides strides, const fovea_entry *entry, int packed, int64_t head,
                                          int64_t row) {
  return (packed ? 0 : entry->batch * strides.batch) + head * strides.head + row * strides.row;
}

/* The first element of a row of Q, O, LSE or a state. */
static inline int64_t fovea_place_offset(const fovea_task_context *context, fovea_strides strides,
                                         fovea_row_place place) {
  const fovea_entry *entry = context->task->entry;
  int packed = context->plan->problem.cu_seqlens_q != NULL;
  return fovea_tensor_offset(strides, entry, packed, place.head, entry->q_first + place.row);
}

#endif
