/* What the steps of one task share, from the tile driver down to the calls of the kernels. */
#ifndef FOVEA_SRC_TASK_H
#define FOVEA_SRC_TASK_H

#include "scratch.h"
#include "segments.h"
#include "spans.h"

/* Row tiles of a task at most: block_tiles of any kernel table. */
enum { FOVEA_TASK_TILES_LIMIT = 16 };

typedef struct fovea_tile {
  fovea_tile_rows rows;
  fovea_tile_view view;
  fovea_tile_memory memory;
  int64_t span; /* the span that the current state gathers; -1: none yet */
} fovea_tile;

typedef struct fovea_task_context {
  const fovea_plan *plan;
  const fovea_kernels *kernels;
  const fovea_task *task;
  const fovea_tensors *tensors;
  const float *keys, *values; /* the entry's position 0 of the kv head */
  fovea_block_memory block;
  int64_t keys_begin, keys_end; /* of the keys that the task meets */
  int64_t next_block;           /* position of the block after this one */
  int keys_copied;              /* the keys of this block lie in scratch too, row by row */
  int packed;                   /* the values of this block lie in the panel too */
  int first_block;              /* this is the first tile in the first block of the task */
  const fovea_tile *unbegun;    /* the tile whose queries are loaded next; NULL: none */
  int tile, tiles;              /* the tile at work, of how many that meet this block */
} fovea_task_context;

/* The first element of a row; packed tensors have no batch axis. */
static inline int64_t fovea_tensor_offset(fovea_strides strides, const fovea_entry *entry, int packed, int64_t head,
                                          int64_t row) {
  return (packed ? 0 : entry->batch * strides.batch) + head * strides.head + row * strides.row;
}

/* Where row `index` of a tile lies: rows of a kv head are numbered row * group + head within the group. */
static inline int64_t fovea_row_offset(const fovea_plan *plan, fovea_strides strides, const fovea_task *task,
                                       int64_t index) {
  int64_t head = task->kv_head * plan->group + index % plan->group;
  return fovea_tensor_offset(strides, task->entry, plan->problem.cu_seqlens_q != NULL, head,
                             task->entry->q_first + index / plan->group);
}

#endif
