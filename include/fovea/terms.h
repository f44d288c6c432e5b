/* Terms of scores that depend on positions only: ALiBi, relative tables, T5's buckets, Swin's grids. */
#ifndef FOVEA_TERMS_H
#define FOVEA_TERMS_H

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number b that a position term adds to the score of a row and a key. All numbers are f32, and b has one
 * rounding at most. `own` is the position of the row's own key, row + offset (see fovea_problem), and d = key -
 * own. */
typedef enum fovea_position_kind {
  /* slope * d (Press et al., ALiBi, 2022; the paper's slopes are positive). One slope for each head, or for each
   * batch element and head. From 2^24 on, d is rounded to f32 first. */
  FOVEA_POSITION_ALIBI = 1,
  FOVEA_POSITION_ALIBI_SYMMETRIC = 2, /* slope * -|d| */
  /* A table of before + 1 + after numbers, for d = -before to d = after. Keys that are farther have the first or
   * the last number. */
  FOVEA_POSITION_RELATIVE = 3,
  /* A table of `buckets` numbers (Raffel et al., T5, 2020). Distances from 0 up have one bucket each, those up to
   * max_distance share buckets that grow with the logarithm, all others have the last. If `bidirectional`, the
   * upper half of the buckets is for d > 0; else all d > 0 have bucket 0. docs/numerics.md says which, to the
   * integer. */
  FOVEA_POSITION_T5 = 4,
  /* Own positions and keys are cells of a grid (depth, height, width), the last axis innermost (Liu et al., Swin,
   * 2021). A table (2 depth - 1, 2 height - 1, 2 width - 1): along each axis, own coordinate less the key's, plus
   * extent - 1. */
  FOVEA_POSITION_GRID = 5
} fovea_position_kind;

/* A term of scores that depends on positions only. What it adds has the bits of an additive f32 mask that holds the
 * same b: after the softcap and before the mask; -Inf: the row does not see the key. Nothing of rows times keys is
 * made. Prepare it with one of the functions below, which set strides of contiguous numbers. */
struct fovea_position_term {
  fovea_position_kind kind; /* which of the fields below are used; the others are 0 */
  /* Distances in elements between numbers of neighbouring batch elements, query heads and places of a table, from
   * the pointer in tensors.terms on; any sign. 0 repeats the numbers. ALIBI has no places. RELATIVE may have
   * FOVEA_CONTIGUOUS as `head`: before + 1 + after. */
  int64_t batch, head, place;
  int64_t before, after;         /* RELATIVE: 0 to 2^48 */
  int64_t buckets, max_distance; /* T5: from 2 (bidirectional: 4) on; more than the distances with a bucket of their
                                    own, which are half of the buckets of a direction, and below 2^31. The other
                                    buckets of a direction are at most 128, for all terms together */
  int bidirectional;             /* T5: 0 or 1 */
  int64_t depth, height, width;  /* GRID: at least 1. All own positions and all keys are cells */
};

/* The most position terms of a problem. */
#define FOVEA_POSITION_TERMS_LIMIT 4

/* One slope for each head. `symmetric` is 0 or 1. */
static inline fovea_position_term fovea_term_alibi(int symmetric) {
  fovea_position_term term = {
      symmetric ? FOVEA_POSITION_ALIBI_SYMMETRIC : FOVEA_POSITION_ALIBI, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return term;
}
/* A table (heads, before + 1 + after). */
static inline fovea_position_term fovea_term_relative(int64_t before, int64_t after) {
  fovea_position_term term = {FOVEA_POSITION_RELATIVE, 0, FOVEA_CONTIGUOUS, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  term.before = before;
  term.after = after;
  return term;
}
/* A table (buckets, heads), as T5 stores it. */
static inline fovea_position_term fovea_term_t5(int64_t heads, int64_t buckets, int64_t max_distance,
                                                int bidirectional) {
  fovea_position_term term = {FOVEA_POSITION_T5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  term.place = heads;
  term.buckets = buckets;
  term.max_distance = max_distance;
  term.bidirectional = bidirectional;
  return term;
}
/* A table (places, heads), as Swin stores it; depth is 1 for images. */
static inline fovea_position_term fovea_term_grid(int64_t heads, int64_t depth, int64_t height, int64_t width) {
  fovea_position_term term = {FOVEA_POSITION_GRID, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  term.place = heads;
  term.depth = depth;
  term.height = height;
  term.width = width;
  return term;
}

/* Sets the position terms of a problem, with the size of a term that this program was compiled with. */
static inline void fovea_problem_set_terms(fovea_problem *problem, const fovea_position_term *terms,
                                           int64_t count) {
  problem->terms.list = terms;
  problem->terms.count = count;
  problem->terms.size = sizeof *terms;
}

#ifdef __cplusplus
}
#endif

#endif
