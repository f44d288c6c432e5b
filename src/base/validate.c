#include "validate.h"

#include "error.h"
#include "unused.h"

#include <limits.h>

fovea_status fovea_validate_bounds(const char *of, const fovea_bounded *numbers, size_t count, fovea_status status,
                                   fovea_error *error) {
  for (size_t i = 0; i < count; i++) {
    const fovea_bounded *number = &numbers[i];
    if (number->value >= number->least && number->value <= number->most) continue;
    return fovea_fail(error, status, "%s%s%s is %d; it must be from %d to %d", of ? of : "", of ? "." : "",
                      number->name, number->value, number->least, number->most);
  }
  return FOVEA_OK;
}

static fovea_status check_sizes(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"batch", p->batch, 1, FOVEA_LENGTH_LIMIT},       {"heads", p->heads, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", p->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"q_len", p->q_len, 0, FOVEA_LENGTH_LIMIT},
      {"kv_len", p->kv_len, 0, FOVEA_LENGTH_LIMIT},     {"qk_dim", p->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", p->v_dim, 1, FOVEA_DIM_LIMIT}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], FOVEA_ERROR_SIZE, error);
  if (status) return status;
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

fovea_status fovea_validate_cumulative(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                       const char *rows_name, fovea_error *error) {
  if (!list) return FOVEA_OK;
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

static fovea_status check_packed(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                 const char *rows_name, const int64_t *lens, fovea_error *error) {
  if (list && lens) {
    return fovea_fail(error, FOVEA_ERROR_LENGTHS,
                      "%s is given together with lengths for padding; one of them must be NULL", name);
  }
  return fovea_validate_cumulative(name, list, batch, rows, rows_name, error);
}

static fovea_status check_lengths(const fovea_problem *p, fovea_error *error) {
  fovea_status status = check_list("q_lens", p->q_lens, p->batch, 0, p->q_len, FOVEA_ERROR_LENGTHS, error);
  if (!status) status = check_list("kv_lens", p->kv_lens, p->batch, 0, p->kv_len, FOVEA_ERROR_LENGTHS, error);
  if (!status) {
    status = check_list("offsets", p->offsets, p->batch, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT, FOVEA_ERROR_RULE,
                        error);
  }
  if (!status) {
    status = check_packed("cu_seqlens_q", p->cu_seqlens_q, p->batch, p->q_len, "q_len", p->q_lens, error);
  }
  if (!status) {
    status = check_packed("cu_seqlens_kv", p->cu_seqlens_kv, p->batch, p->kv_len, "kv_len", p->kv_lens, error);
  }
  return status;
}

static fovea_status check_segmented(const fovea_problem *p, fovea_error *error) {
  if (p->segmented != 0 && p->segmented != 1) {
    return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "segmented is %d; it must be 0 or 1", (int64_t)p->segmented);
  }
  if (p->segmented && p->cu_seqlens_kv) {
    return fovea_fail(error, FOVEA_ERROR_LENGTHS,
                      "cu_seqlens_kv is given together with segments, whose lengths are kv_lens; it must be NULL");
  }
  for (int64_t b = 0; p->segmented && p->kv_begins && b < p->batch; b++) {
    int64_t most = p->kv_lens ? p->kv_lens[b] : p->kv_len;
    if (p->kv_begins[b] < 0 || p->kv_begins[b] > most) {
      return fovea_fail(error, FOVEA_ERROR_LENGTHS, "kv_begins[%d] is %d; it must be from 0 to %d", b,
                        p->kv_begins[b], most);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_keys(const fovea_problem *p, fovea_error *error) {
  if (p->keys_begin < 0 || p->keys_begin > p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "keys_begin is %d; it must be from 0 to kv_len, which is %d",
                      p->keys_begin, p->kv_len);
  }
  if (p->keys_end != FOVEA_UNLIMITED && (p->keys_end < p->keys_begin || p->keys_end > p->kv_len)) {
    return fovea_fail(error, FOVEA_ERROR_RULE,
                      "keys_end is %d; it must be from keys_begin to kv_len, %d to %d, or -1 for kv_len",
                      p->keys_end, p->keys_begin, p->kv_len);
  }
  if (p->to_state != 0 && p->to_state != 1) {
    return fovea_fail(error, FOVEA_ERROR_STATE, "to_state is %d; it must be 0 or 1", (int64_t)p->to_state);
  }
  return FOVEA_OK;
}

static int64_t entry_keys(const fovea_problem *p, int64_t b) {
  if (p->cu_seqlens_kv) return (int64_t)p->cu_seqlens_kv[b + 1] - p->cu_seqlens_kv[b];
  return p->kv_lens ? p->kv_lens[b] : p->kv_len;
}

/* Which keys the mask has. */
static fovea_status check_mask_keys(const fovea_problem *p, fovea_error *error) {
  if (p->mask_begin < 0 || p->mask_begin > p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_MASK, "mask_begin is %d; it must be from 0 to kv_len, which is %d",
                      p->mask_begin, p->kv_len);
  }
  for (int64_t b = 0; p->mask_begins && b < p->batch; b++) {
    if (p->mask_begins[b] >= 0 && p->mask_begins[b] <= entry_keys(p, b)) continue;
    return fovea_fail(error, FOVEA_ERROR_MASK,
                      "mask_begins[%d] is %d; it must be from 0 to the entry's kv length, which is %d", b,
                      p->mask_begins[b], entry_keys(p, b));
  }
  if (p->mask_keys != FOVEA_UNLIMITED && (p->mask_keys < 0 || p->mask_keys > p->kv_len - p->mask_begin)) {
    return fovea_fail(error, FOVEA_ERROR_MASK,
                      "mask_keys is %d; it must be from 0 to kv_len - mask_begin, which is %d, or -1 for all",
                      p->mask_keys, p->kv_len - p->mask_begin);
  }
  return FOVEA_OK;
}

static fovea_status check_mask(const fovea_problem *p, fovea_error *error) {
  if (p->mask_type == FOVEA_MASK_NONE) return FOVEA_OK;
  const struct {
    const char *name;
    int64_t value;
  } strides[] = {{"batch", p->mask_strides.batch}, {"head", p->mask_strides.head}, {"row", p->mask_strides.row}};
  fovea_status status = check_mask_keys(p, error);
  if (status) return status;
  if (p->mask_strides.key != 0 && p->mask_strides.key != 1) {
    return fovea_fail(error, FOVEA_ERROR_MASK, "mask_strides.key is %d; it must be 1, or 0 to repeat one key",
                      p->mask_strides.key);
  }
  for (size_t i = 0; p->mask_type == FOVEA_MASK_BITS && i < sizeof strides / sizeof strides[0]; i++) {
    if (strides[i].value % 8 != 0) {
      return fovea_fail(error, FOVEA_ERROR_MASK,
                        "mask_strides.%s is %d; of a mask of bits it must be a multiple of 8", strides[i].name,
                        strides[i].value);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_types(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded types[] = {{"q_type", (int)p->q_type, 0, FOVEA_BF16},
                                 {"k_type", (int)p->k_type, 0, FOVEA_BF16},
                                 {"v_type", (int)p->v_type, 0, FOVEA_BF16},
                                 {"o_type", (int)p->o_type, 0, FOVEA_BF16},
                                 {"mask_type", (int)p->mask_type, 0, FOVEA_MASK_BF16},
                                 {"sink", (int)p->sink, 0, FOVEA_SINK_ZERO}};
  return fovea_validate_bounds(NULL, types, sizeof types / sizeof types[0], FOVEA_ERROR_TYPE, error);
}

static fovea_status check_softcap(const fovea_problem *p, fovea_error *error) {
  const double largest = 0x1.fffffep+127;
  if (!(p->softcap >= 0) || p->softcap * 0x1.71547652b82fep+0 > largest) {
    return fovea_fail(error, FOVEA_ERROR_SOFTCAP, "softcap is %g; it must be positive and finite, or 0 for none",
                      p->softcap);
  }
  double ratio = p->softcap > 0 ? p->scale / p->softcap : 0;
  if (ratio > largest || ratio < -largest) {
    return fovea_fail(error, FOVEA_ERROR_SOFTCAP, "softcap is %g; scale / softcap must not be beyond 3.4e38",
                      p->softcap);
  }
  return FOVEA_OK;
}

static fovea_status check_allocator(const fovea_allocator *allocator, fovea_error *error) {
  if (!allocator->allocate == !allocator->release) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_NULL, "allocator.%s is NULL; set both functions or neither",
                    allocator->allocate ? "release" : "allocate");
}

fovea_status fovea_validate_strides(const fovea_shape *shape, int is_output, fovea_reach *reach,
                                    fovea_error *error) {
  static const char *const axes[] = {"batch", "head", "row"};
  int64_t low, high, least;
  int axis;
  *reach = (fovea_reach){shape->name, 0, 0, shape->bits < 8 ? 1 : shape->bits / 8};
  if (fovea_shape_is_empty(shape)) return FOVEA_OK;
  if (!fovea_shape_range(shape, &low, &high)) {
    return fovea_fail(error, FOVEA_ERROR_STRIDE,
                      "%s_strides %d, %d, %d: the elements reach further than 2^57 from the first", shape->name,
                      shape->stride[0], shape->stride[1], shape->stride[2]);
  }
  if (is_output && !fovea_shape_is_apart(shape, &axis, &least)) {
    return fovea_fail(error, FOVEA_ERROR_STRIDE,
                      "%s_strides.%s is %d; elements would share memory, its size must be at least %d", shape->name,
                      axes[axis], shape->stride[axis], least);
  }
  reach->begin = low * shape->bits / 8; /* rows of bits begin at whole bytes */
  reach->end = high * shape->bits / 8 + reach->alignment;
  return FOVEA_OK;
}

static fovea_status check_strides(const fovea_problem *p, fovea_reach *reaches, fovea_error *error) {
  fovea_shape shapes[FOVEA_SHAPES];
  fovea_make_shapes(p, shapes);
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < FOVEA_SHAPES && !status; i++) {
    status = fovea_validate_strides(&shapes[i], i >= FOVEA_SHAPE_O, &reaches[i], error);
  }
  return status;
}

fovea_status fovea_validate_problem(const fovea_problem *problem, fovea_reach *reaches, fovea_error *error) {
  fovea_status status = check_sizes(problem, error);
  if (!status) status = check_types(problem, error);
  if (!status) status = check_rules(problem, error);
  if (!status) status = check_softcap(problem, error);
  if (!status) status = check_lengths(problem, error);
  if (!status) status = check_segmented(problem, error);
  if (!status) status = check_keys(problem, error);
  if (!status) status = check_mask(problem, error);
  if (!status) status = check_allocator(&problem->allocator, error);
  if (!status) status = fovea_refuse_unused_rules(problem, error);
  if (!status) status = check_strides(problem, reaches, error);
  return status;
}

fovea_status fovea_validate_pointer(const fovea_reach *reach, const void *pointer, fovea_error *error) {
  if (reach->begin == reach->end) return FOVEA_OK;
  if (!pointer) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", reach->name);
  if ((uintptr_t)pointer % (uintptr_t)reach->alignment != 0) {
    return fovea_fail(error, FOVEA_ERROR_ALIGNMENT,
                      "%s is at an address that ends in %d; it must be a multiple of %d", reach->name,
                      (int64_t)((uintptr_t)pointer % 64), (int64_t)reach->alignment);
  }
  return FOVEA_OK;
}

/* Bytes that two tensors share. */
static uintptr_t overlap(const fovea_reach *a, const void *a_pointer, const fovea_reach *b, const void *b_pointer) {
  uintptr_t a_begin = (uintptr_t)a_pointer + (uintptr_t)a->begin, a_end = (uintptr_t)a_pointer + (uintptr_t)a->end;
  uintptr_t b_begin = (uintptr_t)b_pointer + (uintptr_t)b->begin, b_end = (uintptr_t)b_pointer + (uintptr_t)b->end;
  uintptr_t begin = a_begin > b_begin ? a_begin : b_begin, end = a_end < b_end ? a_end : b_end;
  return a->begin < a->end && b->begin < b->end && begin < end ? end - begin : 0;
}

fovea_status fovea_validate_apart(const fovea_reach *output, const void *output_pointer, const fovea_reach *other,
                                  const void *other_pointer, fovea_error *error) {
  uintptr_t shared = overlap(output, output_pointer, other, other_pointer);
  if (shared == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_OVERLAP, "%s shares memory with %s: they overlap by %u bytes", output->name,
                    other->name, (uint64_t)shared);
}

fovea_status fovea_validate_scratch(const void *scratch, size_t size, size_t needed, fovea_error *error) {
  if (!scratch) return fovea_fail(error, FOVEA_ERROR_NULL, "scratch is NULL");
  if ((uintptr_t)scratch % FOVEA_SCRATCH_ALIGNMENT != 0) {
    return fovea_fail(error, FOVEA_ERROR_SCRATCH, "scratch is %d bytes off an address that is a multiple of %d",
                      (int64_t)((uintptr_t)scratch % FOVEA_SCRATCH_ALIGNMENT), (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  if (size < needed) {
    return fovea_fail(error, FOVEA_ERROR_SCRATCH, "scratch_size is %u bytes; %u are needed", (uint64_t)size,
                      (uint64_t)needed);
  }
  return FOVEA_OK;
}
