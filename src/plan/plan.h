/* The plan: a checked problem with its kernel, its tiles and its tasks. Made once, never changed. */
#ifndef FOVEA_SRC_PLAN_PLAN_H
#define FOVEA_SRC_PLAN_PLAN_H

#include "../../arch/kernels.h"

#include "../base/shapes.h"

#include <fovea/fovea.h>

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

struct fovea_plan {
  const fovea_kernels *kernels;
  fovea_problem problem; /* its per-entry arrays are resolved into entries: NULL here, or flags not to be read */
  float c;               /* scale * log2(e); with a softcap scale / softcap */
  float cap;             /* softcap * log2(e) */
  int mask_copied;       /* blocks of the mask may have to be copied into scratch, mask.h */
  int paired;            /* scores are products of pairs, where all elements are for them */
  int64_t group;         /* query heads that share a kv head */
  int block_tiles;       /* row tiles of a task */
  int64_t row_keys;      /* no row sees more, whatever the lengths of its entry up to the largest */
  int states;            /* of a tile's tree of spans */
  int64_t tasks;         /* of the first phase */
  int64_t part_keys;     /* keys are dealt to tasks in parts of this many, parts.h; 0: they are not */
  int64_t merges;        /* tasks of the second phase, one a tile, where there are parts */
  int allocated;         /* by fovea_plan_build(), and not in memory of the caller's */
  double work;           /* about how many multiplications and additions */
  size_t worker_scratch; /* bytes, a multiple of FOVEA_SCRATCH_ALIGNMENT */
  size_t parts_scratch;  /* bytes behind that of the workers, for all of them */
  fovea_entry *entries;  /* one per batch entry, the longest first */
  fovea_reach reaches[FOVEA_SHAPES]; /* of the tensors, as far as a run uses them */
};

/* What one task does: some row tiles of one entry and one kv head. The rows of a kv head are all rows of its group
 * of query heads, numbered row * group + head within the group, so that rows next to each other see nearly the same
 * keys. Vectors of rows are dealt evenly to the tiles. */
typedef struct fovea_task {
  const fovea_entry *entry;
  int64_t kv_head;
  int64_t first_tile, tiles;
  int64_t part;   /* of the entry's parts */
  int64_t number; /* the task's own */
} fovea_task;

/* Rows of a tile, counted as row * group + head. */
typedef struct fovea_tile_rows {
  int64_t first;
  int count;
} fovea_tile_rows;

/* What checking a problem finds out. */
typedef struct fovea_checked {
  const fovea_kernels *kernels;
  fovea_reach reaches[FOVEA_SHAPES];
} fovea_checked;

fovea_status fovea_plan_check(const fovea_problem *problem, fovea_checked *checked, fovea_error *error);

/* Fills a plan of a problem that was checked. `entries` has room for every batch entry and lives as long as it. */
void fovea_plan_fill(fovea_plan *plan, fovea_entry *entries, const fovea_problem *problem,
                     const fovea_checked *checked);

/* Allocates and fills a plan of a problem that was checked. */
fovea_status fovea_plan_build(const fovea_problem *problem, const fovea_checked *checked, fovea_plan **plan,
                              fovea_error *error);

/* Whether a tile's keys are dealt to several tasks. */
static inline int fovea_has_parts(const fovea_plan *plan) {
  return plan->part_keys > 0 || plan->problem.to_state;
}

/* Whether the rows of a kv head are so few that keys lie in the lanes instead of rows (decoding). */
static inline int fovea_has_few_rows(const fovea_plan *plan, const fovea_entry *entry, int panels) {
  const fovea_kernels *kernels = plan->kernels;
  return entry->q_len * plan->group <= (panels ? kernels->decode_panel_rows : kernels->decode_rows);
}

/* Task `number` of the first phase. */
fovea_task fovea_plan_task(const fovea_plan *plan, int64_t number);
/* The first part's task of tile `number`, counted over the plan. */
fovea_task fovea_plan_merge(const fovea_plan *plan, int64_t number);
int64_t fovea_plan_tiles(const fovea_plan *plan, const fovea_entry *entry);
fovea_tile_rows fovea_plan_tile_rows(const fovea_plan *plan, const fovea_entry *entry, int64_t tile);

#endif
