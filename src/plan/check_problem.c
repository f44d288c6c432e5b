#include "check_problem.h"

#include "../../arch/kernels.h"

#include "../base/error.h"
#include "../base/unused.h"
#include "../base/validate.h"
#include "check.h"
#include "int8_vectors.h"
#include "normaliser.h"
#include "position_terms.h"
#include "shaw.h"
#include "terms.h"

#include <limits.h>

static fovea_status check_sizes(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"batch", p->batch, 1, FOVEA_LENGTH_LIMIT},       {"heads", p->heads, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", p->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"q_len", p->q_len, 0, FOVEA_LENGTH_LIMIT},
      {"kv_len", p->kv_len, 0, FOVEA_LENGTH_LIMIT},     {"qk_dim", p->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", p->v_dim, 1, FOVEA_DIM_LIMIT}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], FOVEA_ERROR_SIZE, error);
  if (status) return status;
  /* Counters and task numbers of the whole problem must fit in 64 bits. */
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
  if (p->max_logits != 0 && p->max_logits != 1) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "max_logits is %d; it must be 0 or 1", (int64_t)p->max_logits);
  }
  if (p->column_sums != 0 && p->column_sums != 1) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "column_sums is %d; it must be 0 or 1", (int64_t)p->column_sums);
  }
  if (p->entropy != 0 && p->entropy != 1) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "entropy is %d; it must be 0 or 1", (int64_t)p->entropy);
  }
  if (!p->offsets && p->offset != FOVEA_OFFSET_BOTTOM_RIGHT &&
      (p->offset > FOVEA_LENGTH_LIMIT || p->offset < -FOVEA_LENGTH_LIMIT)) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "offset is %d; it must be from %d to %d", p->offset,
                      -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT);
  }
  return FOVEA_OK;
}

static fovea_status check_types(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded types[] = {fovea_bounded_type("q_type", p->q_type),
                                 fovea_bounded_type("k_type", p->k_type),
                                 fovea_bounded_type("v_type", p->v_type),
                                 fovea_bounded_type("o_type", p->o_type),
                                 {"mask_type", (int)p->mask_type, 0, FOVEA_MASK_BF16},
                                 {"sink", (int)p->sink, 0, FOVEA_SINK_ZERO},
                                 {"scales", (int)p->scales, 0, FOVEA_SCALES_BOTH},
                                 {"normaliser", (int)p->normaliser, 0, FOVEA_NORMALISER_SIGMOID},
                                 {"divisor", (int)p->divisor, 0, FOVEA_DIVISOR_SUM},
                                 {"shaw", (int)p->shaw, 0, FOVEA_SHAW_BOTH},
                                 {"scores", (int)p->scores, 0, FOVEA_MODE_INT8},
                                 {"values", (int)p->values, 0, FOVEA_MODE_INT8},
                                 {"key_centre", (int)p->key_centre, 0, FOVEA_VECTORS_SHARED},
                                 {"key_scale", (int)p->key_scale, 0, FOVEA_VECTORS_SHARED},
                                 {"value_scale", (int)p->value_scale, 0, FOVEA_VECTORS_SHARED},
                                 {"score_output", (int)p->score_output, 0, FOVEA_SCORES_BIASED}};
  return fovea_validate_bounds(NULL, types, sizeof types / sizeof types[0], FOVEA_ERROR_TYPE, error);
}

/* Sums of products of this many codes are integers below 2^24, which f32 has. */
enum { MOST_INT8_DIMS = 1032 };

/* Modes whose clause does not know a feature. */
static fovea_status check_modes(const fovea_problem *p, fovea_error *error) {
  const char *mode = p->scores ? "scores" : "values";
  const struct {
    int set;
    const char *what;
  } unknown[] = {{p->shaw != 0, "shaw"},
                 {p->normaliser != 0, "normaliser"},
                 {p->entropy != 0, "entropy"},
                 {p->top_k != 0, "top_k"},
                 {p->max_logits != 0, "max_logits"},
                 {p->column_sums != 0, "column_sums"},
                 {p->score_output != 0, "score_output"},
                 {p->score_activation != 0, "score_activation"}};
  for (size_t i = 0; (p->scores || p->values) && i < sizeof unknown / sizeof unknown[0]; i++) {
    if (unknown[i].set)
      return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set; with %s in %s it must not be", unknown[i].what, mode,
                        (p->scores ? p->scores : p->values) == FOVEA_MODE_BF16 ? "bf16" : "int8");
  }
  if (p->scores == FOVEA_MODE_INT8 && p->qk_dim > MOST_INT8_DIMS)
    return fovea_fail(error, FOVEA_ERROR_SIZE, "qk_dim is %d; with scores in int8 it must be at most %d", p->qk_dim,
                      (int64_t)MOST_INT8_DIMS);
  return FOVEA_OK;
}

static fovea_status check_range(const char *name, fovea_range range, const char *of, int64_t most,
                                fovea_error *error) {
  const int64_t end = range.end == FOVEA_UNLIMITED ? most : range.end;
  if (range.begin >= 0 && range.begin <= end && end <= most) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_SIZE, "%s is %d to %d; it must ascend, from 0 to %s, which is %d", name,
                    range.begin, range.end, of, most);
}

static fovea_status check_score_part(const fovea_problem *p, fovea_error *error) {
  fovea_status status = check_range("score_heads", p->score_heads, "heads", p->heads, error);
  if (!status) status = check_range("score_rows", p->score_rows, "q_len", p->q_len, error);
  if (!status) status = check_range("column_rows", p->column_rows, "q_len", p->q_len, error);
  if (status || fovea_is_all(p->score_keys)) return status;
  return check_range("score_keys", p->score_keys, p->cu_seqlens_kv ? "the longest entry" : "kv_len",
                     fovea_score_keys(p), error);
}

static fovea_status check_top_k(const fovea_problem *p, fovea_error *error) {
  if (p->top_k < 0 || p->top_k > FOVEA_TOP_K_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_SIZE, "top_k is %d; it must be from 0 to %d", p->top_k,
                      (int64_t)FOVEA_TOP_K_LIMIT);
  }
  if (p->top_k == 0 || p->kv_len <= INT32_MAX) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_SIZE, "kv_len is %d; with top_k it must be at most %d", p->kv_len,
                    (int64_t)INT32_MAX);
}

static fovea_status check_allocator(const fovea_allocator *allocator, fovea_error *error) {
  if (!allocator->allocate == !allocator->release) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_NULL, "allocator.%s is NULL; set both functions or neither",
                    allocator->allocate ? "release" : "allocate");
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
  if (!status) status = fovea_check_terms(problem, error);
  if (!status) status = check_modes(problem, error);
  if (!status) status = fovea_check_vectors(problem, error);
  if (!status) status = fovea_check_normaliser(problem, error);
  if (!status) status = fovea_check_lengths(problem, error);
  if (!status) status = fovea_check_segmented(problem, error);
  if (!status) status = fovea_check_own_keys(problem, error);
  if (!status) status = fovea_check_keys(problem, error);
  if (!status) status = fovea_check_mask(problem, error);
  if (!status) status = fovea_check_patterns(problem, error);
  if (!status) status = fovea_check_positions(problem, error);
  if (!status) status = check_score_part(problem, error);
  if (!status) status = check_top_k(problem, error);
  if (!status) status = check_allocator(&problem->allocator, error);
  if (!status) status = fovea_refuse_unused_rules(problem, error);
  if (!status) status = fovea_check_shaw(problem, error);
  if (!status) status = check_strides(problem, reaches, error);
  return status;
}
