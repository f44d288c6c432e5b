/* The plan: a checked problem with its kernel, its tiles and its tasks. Made once, never changed. */
#ifndef FOVEA_SRC_PLAN_PLAN_H
#define FOVEA_SRC_PLAN_PLAN_H

#include "../../arch/kernels.h"

#include "../base/shapes.h"
#include "entry.h"
#include "scratch_layout.h"

#include <fovea/fovea.h>

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
  fovea_scratch_layout layout;       /* of a worker's scratch */
  size_t worker_scratch;             /* bytes, a multiple of FOVEA_SCRATCH_ALIGNMENT */
  size_t parts_scratch;              /* bytes behind that of the workers, for all of them */
  fovea_entry *entries;              /* one per batch entry, the longest first */
  fovea_reach reaches[FOVEA_SHAPES]; /* of the tensors, as far as a run uses them */
};

/* Whether a tile's keys are dealt to several tasks. */
static inline int fovea_has_parts(const fovea_plan *plan) {
  return plan->part_keys > 0 || plan->problem.to_state;
}

/* Whether the entry is decoded: the rows of a kv head are so few that keys lie in the lanes instead of rows. */
static inline int fovea_is_decoded(const fovea_plan *plan, const fovea_entry *entry, int panels) {
  const fovea_kernels *kernels = plan->kernels;
  return entry->q_len * plan->group <= (panels ? kernels->decode_panel_rows : kernels->decode_rows);
}

#endif
