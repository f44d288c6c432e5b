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

/* Positions begin to end - 1; empty when end <= begin. */
typedef struct fovea_interval {
  int64_t begin, end;
} fovea_interval;

/* What two intervals share; {0, 0} where that is nothing. */
static inline fovea_interval fovea_meet(fovea_interval a, fovea_interval b) {
  fovea_interval keys = {fovea_most(a.begin, b.begin), fovea_least(a.end, b.end)};
  return keys.begin < keys.end ? keys : (fovea_interval){0, 0};
}

/* One entry of the batch, with everything per entry resolved. */
typedef struct fovea_entry {
  int64_t q_first;    /* row of the tensors where the entry begins (packed batches), else 0 */
  int64_t q_len;      /* rows to write; those from q_seen on see nothing */
  int64_t q_seen;     /* rows that are part of the entry */
  int64_t kv_first;   /* likewise for keys */
  int64_t kv_begin;   /* positions before are not held, or not wanted */
  int64_t kv_len;     /* those that a mask is too short for left out, and those that are not wanted */
  int64_t seen_begin; /* the first key that some row sees, ... */
  int64_t seen_end;   /* ... and behind the last; the same: none sees any */
  int64_t mask_begin; /* the key that the first element of a mask row belongs to */
  int64_t offset;     /* the own key of row i is i + offset */
  int64_t batch;      /* index along the batch axis */
  int64_t first_task; /* of the plan */
  int64_t first_merge;
  int64_t first_part; /* the number of its first part, where position 0 begins part 0 */
  int64_t parts;      /* 1 where the plan has none; nodes of the state, where that is the result */
} fovea_entry;

#endif
