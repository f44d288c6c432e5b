/* One entry of the batch, and ranges of its positions. */
#ifndef FOVEA_SRC_PLAN_ENTRY_H
#define FOVEA_SRC_PLAN_ENTRY_H

#include <fovea/fovea.h>

static inline int64_t fovea_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t fovea_most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Positions begin to end - 1; empty if end <= begin. */
typedef struct fovea_interval {
  int64_t begin, end;
} fovea_interval;

/* The positions in both intervals; {0, 0} if there are none. */
static inline fovea_interval fovea_intersect(fovea_interval a, fovea_interval b) {
  fovea_interval keys = {fovea_most(a.begin, b.begin), fovea_least(a.end, b.end)};
  return keys.begin < keys.end ? keys : (fovea_interval){0, 0};
}

/* One entry of the batch. All settings per entry are resolved. */
typedef struct fovea_entry {
  int64_t q_first;    /* the entry's first row in Q and O (packed batches), else 0 */
  int64_t q_len;      /* rows that are written; rows from q_seen on see nothing */
  int64_t q_seen;     /* rows that may see keys */
  int64_t kv_first;   /* the entry's first row in K and V (packed batches), else 0 */
  int64_t kv_begin;   /* the first key that is held and wanted */
  int64_t kv_len;     /* behind the last key that is held, wanted and not beyond the mask */
  int64_t seen_begin; /* the first key that some row sees */
  int64_t seen_end;   /* behind the last key that some row sees; seen_begin: no row sees a key */
  int64_t mask_begin; /* the key of the first element of a mask row */
  int64_t offset;     /* the own key of row i is at position i + offset */
  int64_t batch;      /* index along the batch axis */
  int64_t first_task; /* counted over the plan, like first_merge */
  int64_t first_merge;
  int64_t first_part; /* the number of its first part, if part 0 begins at position 0 */
  int64_t parts;      /* of each tile: 1 if keys are not split; the nodes of the state if the result is one */
} fovea_entry;

#endif
