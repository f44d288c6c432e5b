/* A mask tensor in guarded memory that holds exactly the elements that its strides span. Tests read and write
 * numbers that are added to scores: a boolean mask holds 0 (visible) and -Inf. */
#ifndef FOVEA_TESTS_MASKS_H
#define FOVEA_TESTS_MASKS_H

#include "generator.h"
#include "guarded.h"
#include "types.h"

struct mask {
  fovea_mask_type type;
  int64_t batch, heads, rows, keys; /* keys is 0 if there is no mask */
  fovea_mask_strides strides;
  unsigned char *data; /* the element with all indices 0 */
  struct guarded memory;
};

const char *mask_type_name(fovea_mask_type type);
/* Whether values are added to scores: f32, f16, bf16. */
int mask_is_additive(fovea_mask_type type);

/* The mask of a problem, over the rows and keys of its longest batch element. Bits that belong to no element are
 * 1. */
struct mask mask_create(const fovea_problem *problem, enum guarded_edge edge);
void mask_destroy(struct mask *mask);

/* Values are rounded to the mask's type; in a boolean mask all values except -Inf are visible. */
void mask_set(struct mask *mask, int64_t batch, int64_t head, int64_t row, int64_t key, float value);
float mask_get(const struct mask *mask, int64_t batch, int64_t head, int64_t row, int64_t key);

/* Patterns of random masks. */
enum mask_pattern {
  MASK_HALF,   /* every other key, by chance */
  MASK_FEW,    /* one key in forty */
  MASK_ALL,    /* everything */
  MASK_NONE,   /* nothing */
  MASK_ROWS,   /* every other row sees nothing, the others see half */
  MASK_PIECES, /* pieces of 16 keys, all or nothing, seldom ragged */
  MASK_TILES,  /* tiles of 64 rows and 64 keys, all or nothing, seldom ragged */
  MASK_BLOCKS, /* blocks of 128 keys, mostly all hidden */
  MASK_PREFIX, /* keys up to a border that moves with the row */
  MASK_PATTERNS
};

/* In additive masks visible keys get random values, every third of them 0. Elements are set in the order of
 * the indices, so that a mask holds the same in any layout. */
void mask_fill_random(struct mask *mask, uint64_t seed, enum mask_pattern pattern);

/* Fills `to` from the part of `from` that begins at these indices. */
void mask_copy_part(struct mask *to, const struct mask *from, int64_t batch, int64_t head, int64_t row);

#endif
