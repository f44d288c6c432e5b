#include "validate.h"

#include "error.h"

#include <limits.h>

static fovea_status check_sizes(const fovea_problem *p, fovea_error *error) {
  const struct {
    const char *name;
    int64_t value, least;
  } sizes[] = {{"batch", p->batch, 1}, {"heads", p->heads, 1},   {"kv_heads", p->kv_heads, 1},
               {"q_len", p->q_len, 0}, {"kv_len", p->kv_len, 0}, {"qk_dim", p->qk_dim, 1},
               {"v_dim", p->v_dim, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (sizes[i].value < sizes[i].least || sizes[i].value > FOVEA_LENGTH_LIMIT) {
      return fovea_fail(error, FOVEA_ERROR_SIZE, "%s is %d; it must be from %d to %d", sizes[i].name,
                        sizes[i].value, sizes[i].least, FOVEA_LENGTH_LIMIT);
    }
  }
  /* Counters and task numbers of the whole problem stay in 64 bits. */
  int64_t rows;
  if (__builtin_mul_overflow(p->batch, p->heads, &rows) || __builtin_mul_overflow(rows, p->q_len + 1, &rows) ||
      rows > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_SIZE, "batch %d times heads %d times q_len %d is more than %d rows",
                      p->batch, p->heads, p->q_len, FOVEA_LENGTH_LIMIT);
  }
  if (p->heads % p->kv_heads != 0) {
    return fovea_fail(error, FOVEA_ERROR_HEADS, "kv_heads is %d; it must divide heads, which is %d", p->kv_heads,
                      p->heads);
  }
  return FOVEA_OK;
}

static fovea_status check_rules(const fovea_problem *p, fovea_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } sides[] = {{"window_left", p->window_left},
               {"window_right", p->window_right},
               {"chunk_left", p->chunk_left},
               {"chunk_right", p->chunk_right}};
  for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
    if (sides[i].value < FOVEA_UNLIMITED) {
      return fovea_fail(error, FOVEA_ERROR_RULE, "%s is %d; it must be 0 or more, or -1 for no limit",
                        sides[i].name, sides[i].value);
    }
  }
  if (p->chunk_size < 0) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "chunk_size is %d; it must be 1 or more, or 0 for no chunks",
                      p->chunk_size);
  }
  if (p->causal != 0 && p->causal != 1) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "causal is %d; it must be 0 or 1", (int64_t)p->causal);
  }
  if (p->scale - p->scale != 0) {
    return fovea_fail(error, FOVEA_ERROR_SCALE, "scale is %g; it must be finite", p->scale);
  }
  double c = p->scale * 0x1.71547652b82fep+0;
  if (c > 0x1.fffffep+127 || c < -0x1.fffffep+127) {
    return fovea_fail(error, FOVEA_ERROR_SCALE, "scale is %g; scale * log2(e) must not be beyond 3.4e38", p->scale);
  }
  if (!p->offsets && p->offset != FOVEA_OFFSET_BOTTOM_RIGHT &&
      (p->offset > FOVEA_LENGTH_LIMIT || p->offset < -FOVEA_LENGTH_LIMIT)) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "offset is %d; it must be from %d to %d", p->offset,
                      -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT);
  }
  return FOVEA_OK;
}

static fovea_status check_list(const char *name, const int64_t *list, int64_t count, int64_t least, int64_t most,
                               fovea_status status, fovea_error *error) {
  for (int64_t i = 0; list && i < count; i++) {
    if (list[i] < least || list[i] > most) {
      return fovea_fail(error, status, "%s[%d] is %d; it must be from %d to %d", name, i, list[i], least, most);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_cumulative(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                     const char *rows_name, const int64_t *lens, fovea_error *error) {
  if (!list) return FOVEA_OK;
  if (lens) {
    return fovea_fail(error, FOVEA_ERROR_LENGTHS,
                      "%s is given together with lengths for padding; one of them must "
                      "be NULL",
                      name);
  }
  if (list[0] < 0)
    return fovea_fail(error, FOVEA_ERROR_LENGTHS, "%s[0] is %d; it must be 0 or more", name, (int64_t)list[0]);
  for (int64_t i = 1; i <= batch; i++) {
    if (list[i] < list[i - 1]) {
      return fovea_fail(error, FOVEA_ERROR_LENGTHS, "%s[%d] is %d; it must not be less than the one before, %d",
                        name, i, (int64_t)list[i], (int64_t)list[i - 1]);
    }
  }
  if (list[batch] > rows) {
    return fovea_fail(error, FOVEA_ERROR_LENGTHS, "%s[%d] is %d; it must be at most %s, which is %d", name, batch,
                      (int64_t)list[batch], rows_name, rows);
  }
  return FOVEA_OK;
}

static fovea_status check_lengths(const fovea_problem *p, fovea_error *error) {
  fovea_status status = check_list("q_lens", p->q_lens, p->batch, 0, p->q_len, FOVEA_ERROR_LENGTHS, error);
  if (!status) status = check_list("kv_lens", p->kv_lens, p->batch, 0, p->kv_len, FOVEA_ERROR_LENGTHS, error);
  if (!status) {
    status = check_list("offsets", p->offsets, p->batch, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT, FOVEA_ERROR_RULE,
                        error);
  }
  if (!status) {
    status = check_cumulative("cu_seqlens_q", p->cu_seqlens_q, p->batch, p->q_len, "q_len", p->q_lens, error);
  }
  if (!status) {
    status = check_cumulative("cu_seqlens_kv", p->cu_seqlens_kv, p->batch, p->kv_len, "kv_len", p->kv_lens, error);
  }
  return status;
}

/* A tensor as its axes: extents and strides, batch, head, row, and the contiguous dimension. */
typedef struct tensor_shape {
  const char *name;
  int64_t extent[3], stride[3], dim;
} tensor_shape;

enum { SHAPES = 5, SHAPE_O = 3, SHAPE_LSE = 4 };

/* The stride of an axis that is one long is never used, whatever it says. */
static tensor_shape make_shape(const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                               fovea_strides strides) {
  tensor_shape shape = {name, {batch, heads, rows}, {strides.batch, strides.head, strides.row}, dim};
  for (int axis = 0; axis < 3; axis++) {
    if (shape.extent[axis] <= 1) shape.stride[axis] = 0;
  }
  return shape;
}

static void make_shapes(const fovea_problem *p, tensor_shape shapes[SHAPES]) {
  int64_t q_batch = p->cu_seqlens_q ? 1 : p->batch, kv_batch = p->cu_seqlens_kv ? 1 : p->batch;
  shapes[0] = make_shape("q", q_batch, p->heads, p->q_len, p->qk_dim, p->q_strides);
  shapes[1] = make_shape("k", kv_batch, p->kv_heads, p->kv_len, p->qk_dim, p->k_strides);
  shapes[2] = make_shape("v", kv_batch, p->kv_heads, p->kv_len, p->v_dim, p->v_strides);
  shapes[SHAPE_O] = make_shape("o", q_batch, p->heads, p->q_len, p->v_dim, p->o_strides);
  shapes[SHAPE_LSE] = make_shape("lse", q_batch, p->heads, p->q_len, 1, p->lse_strides);
}

static int is_empty(const tensor_shape *shape) {
  return shape->extent[0] == 0 || shape->extent[1] == 0 || shape->extent[2] == 0;
}

/* The lowest and highest element that a tensor touches, from its pointer. 0 when they do not fit in 61 bits, so
 * that byte offsets of any type do fit. */
static int element_range(const tensor_shape *shape, int64_t *low, int64_t *high) {
  const int64_t limit = INT64_C(1) << 61;
  *low = 0;
  *high = shape->dim - 1;
  for (int axis = 0; axis < 3; axis++) {
    int64_t reach;
    if (shape->extent[axis] == 0) continue;
    if (__builtin_mul_overflow(shape->extent[axis] - 1, shape->stride[axis], &reach)) return 0;
    if (reach > limit || reach < -limit) return 0;
    *(reach < 0 ? low : high) += reach;
  }
  return *high<limit && * low> - limit;
}

/* An output's elements are apart when its axes nest: each stride steps over all that smaller strides reach. */
static fovea_status check_apart(const tensor_shape *shape, fovea_error *error) {
  static const char *const axes[] = {"batch", "head", "row"};
  int order[3] = {0, 1, 2};
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
  int64_t reach = shape->dim;
  for (int i = 0; i < 3; i++) {
    int axis = order[i];
    int64_t stride = shape->stride[axis], step = stride < 0 ? -stride : stride;
    if (shape->extent[axis] <= 1) continue;
    if (step < reach) {
      return fovea_fail(error, FOVEA_ERROR_STRIDE,
                        "%s_strides.%s is %d; elements would share memory, its size must be at least %d",
                        shape->name, axes[axis], stride, reach);
    }
    reach += step * (shape->extent[axis] - 1);
  }
  return FOVEA_OK;
}

static fovea_status check_strides(const fovea_problem *p, fovea_error *error) {
  tensor_shape shapes[SHAPES];
  make_shapes(p, shapes);
  for (int i = 0; i < SHAPES; i++) {
    int64_t low, high;
    if (is_empty(&shapes[i])) continue;
    if (!element_range(&shapes[i], &low, &high)) {
      return fovea_fail(error, FOVEA_ERROR_STRIDE,
                        "%s_strides %d, %d, %d: the elements reach further than 2^61 from the first",
                        shapes[i].name, shapes[i].stride[0], shapes[i].stride[1], shapes[i].stride[2]);
    }
    if (i >= SHAPE_O) {
      fovea_status status = check_apart(&shapes[i], error);
      if (status) return status;
    }
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_problem(const fovea_problem *problem, fovea_error *error) {
  if (!problem) return fovea_fail(error, FOVEA_ERROR_NULL, "problem is NULL");
  if (problem->struct_size != sizeof *problem) {
    return fovea_fail(error, FOVEA_ERROR_STRUCT_SIZE,
                      "problem.struct_size is %d, not %d; call fovea_problem_init()", (int64_t)problem->struct_size,
                      (int64_t)sizeof *problem);
  }
  fovea_status status = check_sizes(problem, error);
  if (!status) status = check_rules(problem, error);
  if (!status) status = check_lengths(problem, error);
  if (!status) status = check_strides(problem, error);
  return status;
}

/* The bytes from the first to the last element; every type so far has 4-byte elements. */
typedef struct byte_range {
  const char *name;
  uintptr_t begin, end;
} byte_range;

static fovea_status check_pointer(const tensor_shape *shape, const void *pointer, byte_range *range,
                                  fovea_error *error) {
  const int64_t element = 4;
  int64_t low, high;
  range->name = shape->name;
  range->begin = range->end = 0;
  if (is_empty(shape)) return FOVEA_OK;
  if (!pointer) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", shape->name);
  if ((uintptr_t)pointer % (uintptr_t)element != 0) {
    return fovea_fail(error, FOVEA_ERROR_ALIGNMENT,
                      "%s is at an address that ends in %d; it must be a multiple of %d", shape->name,
                      (int64_t)((uintptr_t)pointer % 64), element);
  }
  element_range(shape, &low, &high); /* fits: the problem was checked */
  range->begin = (uintptr_t)pointer + (uintptr_t)(low * element);
  range->end = (uintptr_t)pointer + (uintptr_t)((high + 1) * element);
  return FOVEA_OK;
}

fovea_status fovea_validate_tensors(const fovea_problem *problem, const fovea_tensors *tensors,
                                    fovea_error *error) {
  if (!tensors) return fovea_fail(error, FOVEA_ERROR_NULL, "tensors is NULL");
  if (tensors->struct_size != sizeof *tensors) {
    return fovea_fail(error, FOVEA_ERROR_STRUCT_SIZE,
                      "tensors.struct_size is %d, not %d; call fovea_tensors_init()", (int64_t)tensors->struct_size,
                      (int64_t)sizeof *tensors);
  }
  tensor_shape shapes[SHAPES];
  byte_range ranges[SHAPES];
  const void *const pointers[SHAPES] = {tensors->q, tensors->k, tensors->v, tensors->o, tensors->lse};
  int outputs = tensors->lse ? SHAPES : SHAPES - 1;
  make_shapes(problem, shapes);
  for (int i = 0; i < outputs; i++) {
    fovea_status status = check_pointer(&shapes[i], pointers[i], &ranges[i], error);
    if (status) return status;
  }
  for (int out = SHAPE_O; out < outputs; out++) {
    for (int other = 0; other < out; other++) {
      if (ranges[out].begin < ranges[other].end && ranges[other].begin < ranges[out].end) {
        return fovea_fail(
            error, FOVEA_ERROR_OVERLAP, "%s shares memory with %s: they overlap by %d bytes", ranges[out].name,
            ranges[other].name,
            (int64_t)((ranges[out].end < ranges[other].end ? ranges[out].end : ranges[other].end) -
                      (ranges[out].begin > ranges[other].begin ? ranges[out].begin : ranges[other].begin)));
      }
    }
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_scratch(const void *scratch, size_t size, size_t needed, fovea_error *error) {
  if (!scratch) return fovea_fail(error, FOVEA_ERROR_NULL, "scratch is NULL");
  if ((uintptr_t)scratch % FOVEA_SCRATCH_ALIGNMENT != 0) {
    return fovea_fail(error, FOVEA_ERROR_SCRATCH, "scratch is %d bytes off an address that is a multiple of %d",
                      (int64_t)((uintptr_t)scratch % FOVEA_SCRATCH_ALIGNMENT), (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  if (size < needed) {
    return fovea_fail(error, FOVEA_ERROR_SCRATCH, "scratch_size is %d bytes; %d are needed", (int64_t)size,
                      (int64_t)needed);
  }
  return FOVEA_OK;
}
