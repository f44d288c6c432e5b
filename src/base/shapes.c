#include "shapes.h"

#include "types.h"

/* Shapes are made where they belong: a copy of what was just stored waits for it, a dozen times for each plan. */
static void set_shape(fovea_shape *shape, const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                      const fovea_strides *strides, int bits) {
  shape->name = name;
  shape->extent[0] = batch;
  shape->extent[1] = heads;
  shape->extent[2] = rows;
  shape->stride[0] = batch > 1 ? strides->batch : 0;
  shape->stride[1] = heads > 1 ? strides->head : 0;
  shape->stride[2] = rows > 1 ? strides->row : 0;
  shape->dim = dim;
  shape->bits = bits;
}

fovea_shape fovea_make_shape(const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                             fovea_strides strides, int bits) {
  fovea_shape shape;
  set_shape(&shape, name, batch, heads, rows, dim, &strides, bits);
  return shape;
}

static void set_no_shape(fovea_shape *shape, const char *name) {
  set_shape(shape, name, 0, 0, 0, 1, NULL, 8);
}

static int64_t longest(const int32_t *cu_seqlens, int64_t batch) {
  int64_t most = 0;
  for (int64_t b = 0; b < batch; b++) {
    int64_t length = (int64_t)cu_seqlens[b + 1] - cu_seqlens[b];
    if (length > most) most = length;
  }
  return most;
}

int64_t fovea_score_keys(const fovea_problem *p) {
  return p->cu_seqlens_kv ? longest(p->cu_seqlens_kv, p->batch) : p->kv_len;
}

/* The mask has as many rows and keys for each batch element as the longest needs. */
static void set_mask_shape(const fovea_problem *p, fovea_shape *shape) {
  if (p->mask.type == FOVEA_MASK_NONE) {
    set_no_shape(shape, "mask");
    return;
  }
  int64_t rows = p->cu_seqlens_q ? longest(p->cu_seqlens_q, p->batch) : p->q_len;
  int64_t keys = fovea_score_keys(p);
  if (p->mask.keys != FOVEA_UNLIMITED && p->mask.keys < keys) keys = p->mask.keys;
  if (keys > 1 && p->mask.strides.key == 0) keys = 1;
  fovea_strides strides = {p->mask.strides.batch, p->mask.strides.head, p->mask.strides.row};
  set_shape(shape, "mask", p->batch, p->heads, rows, keys, &strides, fovea_mask_type_bits(p->mask.type));
  if (keys == 0) shape->extent[0] = 0;
}

static fovea_range resolved(fovea_range range, int64_t all) {
  return (fovea_range){range.begin, range.end == FOVEA_UNLIMITED ? all : range.end};
}

fovea_score_part fovea_score_part_of(const fovea_problem *p) {
  return (fovea_score_part){
      .heads = resolved(p->scores.heads, p->heads),
      .rows = resolved(p->scores.rows, p->q_len),
      .keys = resolved(p->scores.keys, fovea_score_keys(p)),
      .by_entry = p->cu_seqlens_q && !fovea_is_all(p->scores.rows),
  };
}

/* The bits of an output's numbers, by the type of its pointer. */
#define BITS_OF(field)     (8 * (int)sizeof *((const fovea_tensors *)0)->field)
#define FOVEA_EACH_KEY     keys
#define ROWS(strides, dim) FOVEA_OUTPUT_ROWS, strides, dim
#define HEADS(dim)         FOVEA_OUTPUT_HEADS, {p->heads * (dim), dim, 0}, dim
#define PART()             FOVEA_OUTPUT_PART, p->scores.strides, 0
fovea_output fovea_output_of(const fovea_problem *p, int shape, int64_t keys) {
  const fovea_output nothing = {FOVEA_OUTPUT_NOTHING, {0, 0, 0}, 0, 32};
  switch (shape) {
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout)                                                       \
  case FOVEA_SHAPE_##PLACE:                                                                                        \
    return (wanted) ? (fovea_output){layout, BITS_OF(field)} : nothing;
#include "../feature/list.inc"
  default:
    return p->state ? nothing
                    : (fovea_output){FOVEA_OUTPUT_ROWS, p->o_strides, p->v_dim, fovea_type_bits(p->o_type)};
  }
}

static void set_score_shape(const fovea_problem *p, int64_t batch, fovea_shape *shape) {
  const fovea_score_part part = fovea_score_part_of(p);
  const int64_t keys = part.keys.end - part.keys.begin;
  set_shape(shape, "scores", part.by_entry ? p->batch : batch, part.heads.end - part.heads.begin,
            part.rows.end - part.rows.begin, keys, &p->scores.strides, 32);
  if (keys == 0) shape->extent[0] = 0;
}

static void set_output_shape(const fovea_problem *p, const char *name, int number, fovea_shape *shape) {
  const int64_t batch = p->cu_seqlens_q ? 1 : p->batch;
  const fovea_output output = fovea_output_of(p, number, p->column_sums.wanted ? fovea_score_keys(p) : 0);
  if (output.layout == FOVEA_OUTPUT_PART)
    set_score_shape(p, batch, shape);
  else if (output.layout == FOVEA_OUTPUT_ROWS)
    set_shape(shape, name, batch, p->heads, p->q_len, output.dim, &output.strides, output.bits);
  else if (output.layout == FOVEA_OUTPUT_HEADS && output.dim > 0)
    set_shape(shape, name, p->batch, p->heads, 1, output.dim, &output.strides, output.bits);
  else
    set_no_shape(shape, name);
}

void fovea_make_shapes(const fovea_problem *p, fovea_shape shapes[FOVEA_SHAPES]) {
  int64_t q_batch = p->cu_seqlens_q ? 1 : p->batch, kv_batch = p->cu_seqlens_kv ? 1 : p->batch;
  int q_bits = fovea_type_bits(p->q_type), k_bits = fovea_type_bits(p->k_type);
  int v_bits = fovea_type_bits(p->v_type);
  set_shape(&shapes[FOVEA_SHAPE_Q], "q", q_batch, p->heads, p->q_len, p->qk_dim, &p->q_strides, q_bits);
  if (p->cache.segmented) {
    set_no_shape(&shapes[FOVEA_SHAPE_K], "k");
    set_no_shape(&shapes[FOVEA_SHAPE_V], "v");
  } else {
    set_shape(&shapes[FOVEA_SHAPE_K], "k", kv_batch, p->kv_heads, p->kv_len, p->qk_dim, &p->k_strides, k_bits);
    set_shape(&shapes[FOVEA_SHAPE_V], "v", kv_batch, p->kv_heads, p->kv_len, p->v_dim, &p->v_strides, v_bits);
  }
  set_mask_shape(p, &shapes[FOVEA_SHAPE_MASK]);
  if (p->sink == FOVEA_SINK_PER_HEAD)
    set_shape(&shapes[FOVEA_SHAPE_SINKS], "sink", 1, 1, 1, p->heads, NULL, 32);
  else
    set_no_shape(&shapes[FOVEA_SHAPE_SINKS], "sink");
  set_output_shape(p, "o", FOVEA_SHAPE_O, &shapes[FOVEA_SHAPE_O]);
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout)                                                       \
  if (wanted)                                                                                                      \
    set_output_shape(p, #field, FOVEA_SHAPE_##PLACE, &shapes[FOVEA_SHAPE_##PLACE]);                                \
  else                                                                                                             \
    set_no_shape(&shapes[FOVEA_SHAPE_##PLACE], #field);
#include "../feature/list.inc"
}

int fovea_shape_is_empty(const fovea_shape *shape) {
  return shape->extent[0] == 0 || shape->extent[1] == 0 || shape->extent[2] == 0;
}

int fovea_shape_range(const fovea_shape *shape, int64_t *low, int64_t *high) {
  const int64_t limit = INT64_C(1) << 57;
  int64_t below = 0, above = shape->dim - 1;
  for (int axis = 0; axis < 3; axis++) {
    int64_t reach;
    if (shape->extent[axis] <= 1 && shape->extent[axis] >= 0) continue; /* no step is taken */
    if (__builtin_mul_overflow(shape->extent[axis] - 1, shape->stride[axis], &reach)) return 0;
    if (reach > limit || reach < -limit) return 0;
    below += reach < 0 ? reach : 0;
    above += reach < 0 ? 0 : reach;
  }
  *low = below;
  *high = above;
  return above <= limit && below >= -limit;
}

int fovea_shape_is_apart(const fovea_shape *shape, int *axis, int64_t *least) {
  int order[3] = {0, 1, 2};
  if (shape->extent[0] <= 1 && shape->extent[1] <= 1 && shape->extent[2] <= 1) return 1;
  for (int i = 0; i < 3; i++) {
    for (int j = i + 1; j < 3; j++) {
      int64_t a = shape->stride[order[i]], b = shape->stride[order[j]];
      if ((b < 0 ? -b : b) < (a < 0 ? -a : a)) {
        int swap = order[i];
        order[i] = order[j];
        order[j] = swap;
      }
    }
  }
  *least = shape->dim;
  for (int i = 0; i < 3; i++) {
    *axis = order[i];
    int64_t stride = shape->stride[*axis], step = stride < 0 ? -stride : stride;
    if (shape->extent[*axis] <= 1) continue;
    if (step < *least) return 0;
    *least += step * (shape->extent[*axis] - 1);
  }
  return 1;
}
