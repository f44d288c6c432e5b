/* The plan: a checked problem with its kernels, tiles and tasks. It is made once and never changed. */
#ifndef FOVEA_SRC_PLAN_PLAN_H
#define FOVEA_SRC_PLAN_PLAN_H

#include "../../arch/kernels.h"

#include "../base/shapes.h"
#include "../feature/list.h"
#include "../feature/position_rules.h"
#include "../visible/visibility.h"
#include "scratch_layout.h"
#include "tile_steps.h"

#include <fovea/fovea.h>

/* What the tasks of a phase do. */
typedef enum fovea_phase_kind {
  FOVEA_PHASE_ATTEND,     /* attention of a tile, or of a part of its keys */
  FOVEA_PHASE_MERGE,      /* the parts of a tile */
  FOVEA_PHASE_MAX_LOGITS, /* the largest score of a head */
  FOVEA_PHASE_COLUMN_SUMS /* sums of weights of some keys and all heads of a kv head */
} fovea_phase_kind;

/* The ways of computing the rows of an entry, run/engine.h. */
typedef enum fovea_engine_kind {
  FOVEA_ENGINE_TILED,         /* rows lie in the lanes */
  FOVEA_ENGINE_TILED_MODE,    /* the same, if values are in a mode */
  FOVEA_ENGINE_DECODED,       /* few rows: keys lie in the lanes */
  FOVEA_ENGINE_DECODED_CODES, /* in int8: keys lie in the lanes, as codes */
  FOVEA_ENGINE_GATHERED,      /* row by row, from the keys of lists */
  FOVEA_ENGINES
} fovea_engine_kind;

/* How the keys of an entry lie. */
typedef enum fovea_key_places {
  FOVEA_KEYS_LIE_IN_ROWS,  /* one after the other, at least in most blocks */
  FOVEA_KEYS_LIE_IN_PAGES, /* in rows of so small pages that blocks must be copied before rows can lie in the lanes
                            */
  FOVEA_KEYS_LIE_IN_PANELS,
  FOVEA_KEY_PLACES
} fovea_key_places;

/* The most phases of a plan: one of each kind. */
enum { FOVEA_PLAN_PHASES = FOVEA_PHASE_COLUMN_SUMS + 1 };

typedef struct fovea_planned_phase {
  fovea_phase_kind kind;
  int64_t tasks;
} fovea_planned_phase;

struct fovea_plan {
  const fovea_kernels *kernels;
  fovea_allocator allocator;                /* of the plan itself */
  int isa_named;                            /* by the execution that it was made for */
  const fovea_arithmetic *scores, *values;  /* of the problem's modes; NULL: exact */
  const fovea_decoding *decoding;           /* if few rows of these modes are decoded; else NULL */
  fovea_tile_steps steps;                   /* what tiles call for these modes */
  fovea_engine_kind tiler;                  /* the engine of entries with many rows */
  fovea_engine_kind decoder;                /* the engine of entries with few rows, */
  int64_t decoded_rows[FOVEA_KEY_PLACES];   /* of up to so many, by how the keys lie, fovea_key_places */
  int follows_rows;                         /* FOVEA_CPU_FOLLOWS_ROWS */
  const char *gather_reason, *parts_reason; /* why rows and keys are computed as they are, for callers to read */
  uint64_t features;                        /* that the problem has, FOVEA_HAS() */
  uint64_t inputs;                          /* which of them have inputs of their own, feature.h */
  fovea_problem problem; /* arrays per entry are resolved: NULL here, or only a flag that there was one */
  fovea_score_terms terms;
  fovea_weighting weighting;
  fovea_score_terms output_terms; /* of scores as an output, if they are not weights */
  int mask_copied;                /* blocks of the mask, or bits of a pattern, may be written to scratch, mask.h */
  int paired;                     /* scores are products of pairs, if all elements allow it */
  int64_t group;                  /* query heads that share a kv head */
  int gathered;                   /* some entry is */
  int block_tiles;                /* row tiles of a task */
  fovea_score_part score_part;    /* of the scores that a run writes */
  int64_t column_keys;            /* sums of a head, if they are wanted */
  int64_t column_blocks;          /* blocks of keys of a task that sums columns */
  int64_t row_keys;               /* an upper bound on the keys of one row, for any lengths up to the problem's */
  int states;                     /* in a tile's tree of spans */
  int64_t tasks;                  /* of the first phase */
  int64_t part_keys;              /* keys are split into parts of this many, parts.h; 0: keys are not split */
  int64_t merges;                 /* tasks that merge: one for each tile, if keys are split */
  int phase_count;
  fovea_planned_phase phases[FOVEA_PLAN_PHASES];
  int allocated;                     /* fovea_plan_build() allocated it; else it is in the caller's memory */
  double work;                       /* estimated multiply-adds */
  fovea_scratch_places own_scratch;  /* arrays of features in it */
  fovea_scratch_layout layout;       /* of a worker's scratch */
  size_t worker_scratch;             /* bytes, a multiple of FOVEA_SCRATCH_ALIGNMENT */
  size_t parts_scratch;              /* bytes after the workers' scratch, shared by all workers: states of parts */
  size_t rows_scratch;               /* bytes after these: numbers of all rows, row_numbers.h */
  fovea_entry *entries;              /* one per batch element, the longest first */
  fovea_reach reaches[FOVEA_SHAPES]; /* the bytes of each tensor that a run uses */
  fovea_positions positions;         /* the problem's position terms */
};

/* Whether each task has a part of its tiles' keys only. */
static inline int fovea_has_parts(const fovea_plan *plan) {
  return plan->part_keys > 0 || plan->problem.state;
}

/* Whether wanted scores are computed once more: as an output they have other terms than in the softmax. */
static inline int fovea_scores_again(const fovea_plan *plan) {
  return plan->problem.scores.kind > FOVEA_SCORES_WEIGHTS;
}

/* Whether the scores of a row of an entry are wanted, if any are. */
static inline int fovea_row_is_scored(const fovea_plan *plan, int64_t head, int64_t row) {
  const fovea_range heads = plan->score_part.heads, rows = plan->score_part.rows;
  return heads.begin <= head && head < heads.end && rows.begin <= row && row < rows.end;
}

/* What the rows of an entry and a kv head see keys by, without a mask. */
static inline fovea_visibility fovea_visibility_of(const fovea_plan *plan, const fovea_entry *entry,
                                                   int64_t kv_head) {
  return (fovea_visibility){.problem = &plan->problem,
                            .entry = entry,
                            .kv_head = kv_head,
                            .group = plan->group,
                            .kernels = plan->kernels};
}

/* The rows that are multiplied for the rows of a decoded tile. Exact mode multiplies three rows, or three after fours,
 * as four: keys and values become vectors of f32 once, and not once for two rows and once more for one. */
int fovea_rows_multiplied(const fovea_plan *plan, int rows);

/* Whether the entry is decoded: it has so few rows that keys lie in the lanes of vectors, not rows. */
static inline int fovea_is_decoded(const fovea_plan *plan, const fovea_entry *entry, fovea_key_places places) {
  return entry->q_len * plan->group <= plan->decoded_rows[places];
}

/* The engine of an entry, whose keys lie in these places. */
static inline fovea_engine_kind fovea_engine_of(const fovea_plan *plan, const fovea_entry *entry,
                                                fovea_key_places places) {
  if (entry->gathered) return FOVEA_ENGINE_GATHERED;
  return fovea_is_decoded(plan, entry, places) ? plan->decoder : plan->tiler;
}

#endif
