/* What says which keys the rows of a tile see: the rules of the problem, a pattern, a mask. */
#ifndef FOVEA_SRC_VISIBLE_VISIBILITY_H
#define FOVEA_SRC_VISIBLE_VISIBILITY_H

#include "../../arch/kernels.h"
#include "../pattern/pattern.h"
#include "entry.h"

/* Rows of a tile, counted as row * group + head: the rows of all query heads of a kv head, so that neighbouring
 * rows see nearly the same keys. */
typedef struct fovea_tile_rows {
  int64_t first;
  int count;
} fovea_tile_rows;

/* A row of a tile as a query head and a row of the entry. */
typedef struct fovea_row_place {
  int64_t head, row;
} fovea_row_place;

/* What the rows of one entry and one kv head see keys by. */
typedef struct fovea_visibility {
  const fovea_problem *problem; /* rules, heads, and the mask's type and strides */
  const fovea_entry *entry;     /* with its pattern */
  int64_t kv_head, group;       /* query heads that share the kv head */
  const fovea_kernels *kernels;
  const void *mask; /* the tensor; NULL: there is none, or it is not read */
  char *copies;     /* room for a block's rows of a mask or of a pattern's bits, [row][FOVEA_BLOCK_KEYS] */
} fovea_visibility;

/* The heads of the entry's pattern that the query heads of the kv head have. */
static inline fovea_interval fovea_pattern_heads(const fovea_visibility *by) {
  const int64_t heads = by->entry->pattern->heads;
  if (heads == 1) return (fovea_interval){0, 1};
  if (heads == by->problem->kv_heads) return (fovea_interval){by->kv_head, by->kv_head + 1};
  return (fovea_interval){by->kv_head * by->group, (by->kv_head + 1) * by->group};
}

/* The head of the entry's pattern that a query head has. */
static inline int64_t fovea_pattern_head(const fovea_visibility *by, int64_t head) {
  const int64_t heads = by->entry->pattern->heads;
  return heads == 1 ? 0 : heads == by->problem->heads ? head : head / by->group;
}

#endif
