/* The tensors of a problem as axes with extents and strides, for the checks of strides, pointers and overlap. */
#ifndef FOVEA_SRC_BASE_SHAPES_H
#define FOVEA_SRC_BASE_SHAPES_H

#include <fovea/fovea.h>

/* The batch, head and row axes, and the contiguous dimension (of a mask: its keys). An axis of extent 1 has stride
 * 0 here, whatever the caller says: its stride is never used. */
typedef struct fovea_shape {
  const char *name;
  int64_t extent[3], stride[3], dim;
  int bits; /* of one element */
} fovea_shape;

enum {
  FOVEA_SHAPE_Q,
  FOVEA_SHAPE_K,
  FOVEA_SHAPE_V,
  FOVEA_SHAPE_MASK,
  FOVEA_SHAPE_SINKS,
  FOVEA_SHAPE_O, /* the outputs are last */
  FOVEA_SHAPE_LSE,
  FOVEA_SHAPE_SCORES,
  FOVEA_SHAPE_MAX_LOGITS,
  FOVEA_SHAPE_TOP_KEYS,
  FOVEA_SHAPE_TOP_SCORES,
  FOVEA_SHAPE_ENTROPY,
  FOVEA_SHAPE_COLUMN_SUMS,
  FOVEA_SHAPES
};

fovea_shape fovea_make_shape(const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                             fovea_strides strides, int bits);

/* A tensor that the problem does not have gets an empty shape. */
void fovea_make_shapes(const fovea_problem *problem, fovea_shape shapes[FOVEA_SHAPES]);

/* The pointer to an output, one of these shapes. */
static inline const void *fovea_output_of(const fovea_tensors *tensors, int shape) {
  switch (shape) {
  case FOVEA_SHAPE_O:
    return tensors->o;
  case FOVEA_SHAPE_LSE:
    return tensors->lse;
  case FOVEA_SHAPE_SCORES:
    return tensors->scores;
  case FOVEA_SHAPE_ENTROPY:
    return tensors->entropy;
  case FOVEA_SHAPE_COLUMN_SUMS:
    return tensors->column_sums;
  case FOVEA_SHAPE_TOP_KEYS:
    return tensors->top.keys;
  case FOVEA_SHAPE_TOP_SCORES:
    return tensors->top.scores;
  default:
    return tensors->max_logits;
  }
}

/* Whether an output may be NULL. */
static inline int fovea_is_optional(int shape) {
  return shape == FOVEA_SHAPE_LSE || shape == FOVEA_SHAPE_TOP_SCORES;
}

/* Behind the last wanted key. */
static inline int64_t fovea_keys_end(const fovea_problem *problem) {
  return problem->keys.end == FOVEA_UNLIMITED ? problem->kv_len : problem->keys.end;
}

/* The keys of a row of scores of all keys: as many as the longest entry may have. */
int64_t fovea_score_keys(const fovea_problem *problem);

/* Whether a range is the whole axis, whatever that has. */
static inline int fovea_is_all(fovea_range range) {
  return range.begin == 0 && range.end == FOVEA_UNLIMITED;
}

/* Which scores a run writes: heads, rows and keys begin to end - 1. */
typedef struct fovea_score_part {
  fovea_range heads, rows, keys;
  int by_entry; /* rows of a packed batch have a batch axis */
} fovea_score_part;

fovea_score_part fovea_score_part_of(const fovea_problem *problem);

static inline fovea_strides fovea_max_logit_strides(const fovea_problem *problem) {
  return (fovea_strides){problem->heads, 1, 1};
}

int fovea_shape_is_empty(const fovea_shape *shape);

/* Sets the lowest and highest element of a tensor, counted from its pointer. Returns 0 if they do not fit in 57
 * bits; if they do, bits and bytes of any type fit in 64. */
int fovea_shape_range(const fovea_shape *shape, int64_t *low, int64_t *high);

/* Whether no two elements share memory, judged by nested axes: each stride must be at least the extent of all
 * smaller strides. If not, sets the axis whose stride is too small, and the least size of that stride. */
int fovea_shape_is_apart(const fovea_shape *shape, int *axis, int64_t *least);

/* The bytes that a tensor's pointer is checked for, from its first element to its last, counted from the pointer
 * (none if begin equals end), and the alignment of the elements. */
typedef struct fovea_reach {
  const char *name;
  int64_t begin, end;
  int alignment;
} fovea_reach;

#endif
