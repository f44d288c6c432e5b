/* What a plan does and why, before anything is computed: how many blocks of the score matrix are empty, the work,
 * the bytes, the least time they take, which kernels run and the reason for it; and which keys each row sees.
 *
 *   fovea_explanation_init(&explanation);
 *   fovea_plan_explain(plan, &explanation, &error);
 *
 * Nothing is allocated, and no tensor is read. `fovea explain` prints it. */
#ifndef FOVEA_EXPLAIN_H
#define FOVEA_EXPLAIN_H

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Prepare it with fovea_explanation_init(), then set the first three fields if they are known. The call sets all
 * others. Texts live as long as the process. Counts that do not fit are INT64_MAX.
 *
 * A plan knows no tensors: what a mask tensor hides, and whether keys of caches lie in panels, shows only when it
 * runs. So counts are as if there were no mask (`blocks_masked` says how much that may change) and as if keys lay
 * in rows. */
typedef struct fovea_explanation {
  size_t struct_size; /* set by fovea_explanation_init() */

  int threads; /* as in fovea_execution; 0 (default): fovea_default_threads() */
  double
      flops_per_second; /* what the machine does at most with these threads: f32 operations, an FMA is two; ... */
  double bytes_per_second; /* ... bytes read. 0 (default): not known */

  const char *isa;        /* the instruction set */
  const char *table;      /* its table of kernels; the same as `isa` if it has only one */
  const char *isa_reason; /* why this one */
  int paired;             /* 1: scores are products of pairs of f16 or bf16, where the elements allow it */
  int lanes, row_tile;    /* rows of a vector and, at most, of a row tile; 128 keys make a block */

  /* Rows of all query heads by how they are computed. All ways have the same bits. */
  int64_t rows_tiled;      /* rows lie in the lanes of vectors */
  int64_t rows_decoded;    /* keys lie in the lanes, since there are few rows */
  int64_t rows_gathered;   /* the keys of a row's list are gathered */
  const char *rows_reason; /* why these ways */

  int64_t tiles;            /* row tiles, over all batch elements and kv heads */
  int64_t tiles_of_task;    /* at most so many go through the keys together */
  int64_t part_keys, parts; /* keys of a part, and the parts of all tiles; 0, 0: keys are not split */
  const char *parts_reason; /* why they are split or not */
  int span_states;          /* states of spans that a tile keeps at most */
  int phases;               /* one after the other */
  int64_t tasks;            /* of all phases */
  int workers;              /* threads that run them: fewer than asked for if there is little to do */

  /* Pairs of a row tile and a block of the sequence's keys, over all batch elements and kv heads. `blocks` is the
   * sum of the five below. */
  int64_t blocks;
  int64_t blocks_empty;   /* no row sees a key: skipped */
  int64_t blocks_full;    /* every row sees every key */
  int64_t blocks_limited; /* a row sees an interval of keys: limits are compared with key numbers */
  int64_t blocks_bits;    /* the pattern's bits say which keys a row sees */
  int64_t blocks_masked;  /* not empty by the rules; what the mask tensor leaves is not known before a run */

  int64_t pairs;          /* of a row and a key of its sequence, over all query heads */
  int64_t pairs_visible;  /* that rules and pattern let rows see */
  int64_t pairs_computed; /* padding of rows and keys included. Scores that are computed twice count once */
  double flops;           /* 2 * (qk_dim + v_dim) for each visible pair; infinite if their number is not known */

  /* Each element counted once: of Q, K, V and a mask from the first to the last key that the rules (without the
   * pattern) let a row see; O or the state, and what the problem says is written beside them. LSE, sinks and the
   * numbers of position terms are left out. The types of K and V in caches are the types of the segments:
   * `bytes_read` leaves these elements out, too, and cached_elements is their number. */
  double bytes_read, bytes_written;
  double cached_elements;
  size_t scratch_bytes; /* for these workers */

  /* The least time for these flops, and for these bytes at the rate of reading; 0: not known. A run takes at least
   * the larger of both, but that caches may hold the data. */
  double compute_seconds, memory_seconds;

  /* The instructions that multiply in a mode with other arithmetic: "AMX", "FMA", "VPDPBUSD", ...; "": no half of
   * the problem has one. Of the scores; if scores are exact, of the values. */
  const char *products;
  const char *value_products; /* of the values; "": values are exact */
} fovea_explanation;

/* Fills the first struct_size bytes with defaults. Callers in C use fovea_explanation_init(). */
FOVEA_API void fovea_explanation_init_sized(fovea_explanation *explanation, size_t struct_size);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_explanation_init(fovea_explanation *explanation) {
  fovea_explanation_init_sized(explanation, sizeof *explanation);
}

/* Explains a plan. Takes a pass over all tiles, and over the blocks that are not full by the rules. `error` may be
 * NULL. FOVEA_ERROR_ARGUMENT if threads or a rate is negative, or a rate is not finite. On failure nothing is
 * written. */
FOVEA_API fovea_status fovea_plan_explain(const fovea_plan *plan, fovea_explanation *explanation,
                                          fovea_error *error);

/* What one task of a plan computes. Texts live as long as the process. */
typedef struct fovea_task_explanation {
  size_t struct_size; /* set by fovea_task_explanation_init() */
  const char *work;   /* "attention", "merge" (the parts of the keys), "column sums", "max logits" */
  const char *engine; /* how rows are computed: "tiled", "decoded" or "gathered"; "": no scores are computed. As if
                         keys lay in rows, as in fovea_explanation */
  int64_t element;    /* batch element */
  int64_t first_head, heads; /* query heads */
  int64_t first_row, rows;   /* of the element's queries. With several heads the first and the last row may be of
                                some of these heads only */
  int64_t first_key, keys;   /* of the element's keys, those that no row sees included */
} fovea_task_explanation;

/* Says with which size of the struct this program was compiled. */
static inline void fovea_task_explanation_init(fovea_task_explanation *explanation) {
  explanation->struct_size = sizeof *explanation;
}

/* Tells what task `task` of phase `phase` computes: fovea_plan_phases(), fovea_plan_tasks(). Together the tasks of
 * the first phase have each row and head of each batch element once; if keys are split, once for each part.
 * `error` may be NULL. FOVEA_ERROR_ARGUMENT if there is no such phase or task, a pointer is NULL, or explanation
 * was not initialised. On failure nothing is written. */
FOVEA_API fovea_status fovea_plan_explain_task(const fovea_plan *plan, int phase, int64_t task,
                                               fovea_task_explanation *explanation, fovea_error *error);

/* Sets bit j % 64 of visible[j / 64] if row `row` of batch element `element` and query head `head` sees key
 * first_key + j by the rules and the pattern, for j from 0 to 64 * words - 1; a mask tensor may hide more.
 * `first_key` is a multiple of 64 from 0 on. Error: FOVEA_ERROR_ARGUMENT. */
FOVEA_API fovea_status fovea_plan_row_keys(const fovea_plan *plan, int64_t element, int64_t head, int64_t row,
                                           int64_t first_key, int64_t words, uint64_t *visible, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
