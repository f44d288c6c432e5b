/* The tensors of a problem as axes with extents and strides: what checks of strides, pointers and overlap need. */
#ifndef FOVEA_SRC_BASE_SHAPES_H
#define FOVEA_SRC_BASE_SHAPES_H

#include <fovea/fovea.h>

/* The batch, head and row axes, and the contiguous dimension (of a mask: its keys). The stride of an axis that is
 * one long is 0 here, whatever the caller says: it is never used. */
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
  FOVEA_SHAPE_O, /* the outputs come last */
  FOVEA_SHAPE_LSE,
  FOVEA_SHAPES
};

fovea_shape fovea_make_shape(const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                             fovea_strides strides, int bits);

/* A tensor that the problem does not have is empty. */
void fovea_make_shapes(const fovea_problem *problem, fovea_shape shapes[FOVEA_SHAPES]);

/* Behind the last of the keys that are wanted. */
static inline int64_t fovea_keys_end(const fovea_problem *problem) {
  return problem->keys_end == FOVEA_UNLIMITED ? problem->kv_len : problem->keys_end;
}

int fovea_shape_is_empty(const fovea_shape *shape);

/* The lowest and highest element that a tensor touches, counted from its pointer. 0 when they do not fit in 57
 * bits, so that bits and bytes of any type do fit. */
int fovea_shape_range(const fovea_shape *shape, int64_t *low, int64_t *high);

/* Whether no two elements share memory, judged by axes that nest: each stride steps over all that smaller strides
 * reach. Where not, the axis that does not, and the least size of its stride. */
int fovea_shape_is_apart(const fovea_shape *shape, int *axis, int64_t *least);

/* What a tensor's pointer has to be checked for: the bytes that its elements take, counted from the pointer (none
 * where begin equals end), and their alignment. */
typedef struct fovea_reach {
  const char *name;
  int64_t begin, end;
  int alignment;
} fovea_reach;

#endif
