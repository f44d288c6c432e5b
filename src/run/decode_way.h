/* What differs in decoding between exact mode and int8 mode. */
#ifndef FOVEA_SRC_RUN_DECODE_WAY_H
#define FOVEA_SRC_RUN_DECODE_WAY_H

#include "../../arch/args/decode.h"
#include "positions.h"

/* A tile and a block, whose rows are listed. */
typedef struct fovea_decode_block {
  const fovea_plan *plan;
  const fovea_row_terms *terms;
  const fovea_tile *tile;
  const fovea_visible_block *visible;
  fovea_position_block *positions;
  fovea_interval keys;    /* from the first that some row sees to the last, counted from the block's first */
  fovea_interval vectors; /* the same in whole vectors */
  int first;              /* no block of this span came before */
} fovea_decode_block;

typedef struct fovea_decode_way {
  /* Makes operands of the tile's queries, which were converted to f32. */
  void (*load_queries)(const fovea_plan *plan, fovea_decode_state *state, int rows);
  /* Makes rows that the kernels can take, of the listed rows of the current block. */
  void (*read_rows)(const fovea_task_context *context, fovea_decode_state *state);
  /* Computes products. `args` has what all ways have; `positions` the scales of rows, if there are terms, which are
   * set to NULL if the products are multiplied by them. */
  void (*score)(const fovea_plan *plan, const fovea_decode_state *state, fovea_position_block *positions,
                fovea_decode_score_args *args);
  /* Multiplies weights and values, and ends the chains. `stateless`: some row gets no state from the block. */
  void (*add_values)(const fovea_decode_block *block, const fovea_decode_state *state, int stateless);
} fovea_decode_way;

extern const fovea_decode_way fovea_exact_way, fovea_code_way;

/* The rows to prefetch, from key `key` of the next block on. If the next block's rows are not known, not uniform,
 * or in another layout: the rows of this block. */
static inline const void *const *fovea_rows_to_prefetch(const fovea_row_list *list, const fovea_row_list *next,
                                                        int64_t key) {
  return next->base >= 0 && next->uniform && next->panels == list->panels && next->coded == list->coded
             ? next->rows + key
             : list->rows + key;
}

/* The rows to prefetch in exact mode. Plain rows are prefetched before the products that read them, not a block
 * before: the values of a block during its scores, the keys of the next block during the products with values. That
 * `soon` lies as the rows that are multiplied do is asked, since their products say what a row's bytes are; if it
 * does not, the same side of the next block is prefetched. Rows of which many lie a multiple of 4 KB apart, as
 * pages of one row may, share few sets of L2: the rows of two blocks would throw each other out. */
static inline const void *const *fovea_plain_rows_to_prefetch(const fovea_problem *problem,
                                                              const fovea_row_list *list,
                                                              const fovea_row_list *soon,
                                                              const fovea_row_list *next, int64_t key) {
  const int plain = list->uniform && !list->panels && !list->coded && problem->qk_dim == problem->v_dim;
  const int alike = plain && soon->base >= 0 && soon->uniform && !soon->panels && !soon->coded;
  return alike && soon->type == list->type ? soon->rows + key : fovea_rows_to_prefetch(list, next, key);
}

/* The rows from key `key` on, if they have a format. */
static inline fovea_coded_keys fovea_coded_keys_at(const fovea_row_list *list, int64_t key) {
  if (!list->coded) return (fovea_coded_keys){0};
  return (fovea_coded_keys){&list->codes, list->scales + key, list->has_zeros, list->zeros_at, list->scale_step};
}

#endif
