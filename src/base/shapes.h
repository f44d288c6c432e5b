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
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout) FOVEA_SHAPE_##PLACE,
#include "../feature/list.inc"
  FOVEA_SHAPES
};

fovea_shape fovea_make_shape(const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                             fovea_strides strides, int bits);

/* A tensor that the problem does not have gets an empty shape. */
void fovea_make_shapes(const fovea_problem *problem, fovea_shape shapes[FOVEA_SHAPES]);

/* Where the numbers of an output lie. ROWS: `dim` for each row of O; HEADS: `dim` for each batch element and head,
 * contiguous; PART: the part of the scores that is wanted; NOTHING: the problem does not have the output. */
typedef struct fovea_output {
  enum { FOVEA_OUTPUT_NOTHING, FOVEA_OUTPUT_ROWS, FOVEA_OUTPUT_HEADS, FOVEA_OUTPUT_PART } layout;
  fovea_strides strides;
  int64_t dim;
  int bits;
} fovea_output;

/* The output of a shape, FOVEA_SHAPE_*. `keys` is what each head has column sums of, fovea_score_keys(), if it has
 * any. */
fovea_output fovea_output_of(const fovea_problem *problem, int shape, int64_t keys);

static inline const void *fovea_output_pointer(const fovea_tensors *tensors, int shape) {
  switch (shape) {
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout)                                                       \
  case FOVEA_SHAPE_##PLACE:                                                                                        \
    return tensors->field;
#include "../feature/list.inc"
  default:
    return tensors->o;
  }
}

/* Whether an output may be NULL that the problem has. */
static inline int fovea_is_optional(int shape) {
  return 0
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout) || ((optional) && shape == FOVEA_SHAPE_##PLACE)
#include "../feature/list.inc"
      ;
}

/* After the last wanted key. */
static inline int64_t fovea_keys_end(const fovea_problem *problem) {
  return problem->keys.end == FOVEA_UNLIMITED ? problem->kv_len : problem->keys.end;
}

/* The keys of a row of scores of all keys: as many as the longest batch element may have. */
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
