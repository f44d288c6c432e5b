#include "unused.h"

#include "error.h"

/* Settings that would not be used: a pointer, or a number that is not what it is where nobody sets it. Every call
 * passes a dozen of them: each is to be a comparison, and no entry of a table. */
static inline __attribute__((always_inline)) fovea_status
refuse_pointer(int would_not_be_used, const char *name, const void *pointer, const char *why, fovea_error *error) {
  if (!would_not_be_used || !pointer) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is not NULL and would not be used: %s", name, why);
}

static inline __attribute__((always_inline)) fovea_status refuse_number(int would_not_be_used, const char *name,
                                                                        int64_t value, int64_t unset,
                                                                        const char *why, fovea_error *error) {
  if (!would_not_be_used || value == unset) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %d and would not be used: %s", name, value, why);
}

static fovea_status refuse_real(int would_not_be_used, const char *name, double value, const char *why,
                                fovea_error *error) {
  if (!would_not_be_used || value == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %g and would not be used: %s", name, value, why);
}

/* What the softmax does not use, and what the other normalisers do not. */
static fovea_status refuse_unused_normaliser(const fovea_problem *p, fovea_error *error) {
  const int softmax = p->normaliser == FOVEA_NORMALISER_SOFTMAX;
  fovea_status status = refuse_number(softmax, "divisor", (int64_t)p->divisor, FOVEA_DIVISOR_NONE,
                                      "normaliser is FOVEA_NORMALISER_SOFTMAX", error);
  if (!status)
    status = refuse_real(p->divisor != FOVEA_DIVISOR_CONSTANT, "divisor_value", p->divisor_value,
                         "divisor is not FOVEA_DIVISOR_CONSTANT", error);
  if (!status)
    status = refuse_real(p->normaliser != FOVEA_NORMALISER_SIGMOID, "sigmoid_bias", p->sigmoid_bias,
                         "normaliser is not FOVEA_NORMALISER_SIGMOID", error);
  if (!status)
    status = refuse_number(!softmax, "sink", (int64_t)p->sink, FOVEA_SINK_NONE,
                           "normaliser is not FOVEA_NORMALISER_SOFTMAX", error);
  if (!status)
    status = refuse_number(p->to_state && p->divisor == FOVEA_DIVISOR_KEYS, "divisor", (int64_t)p->divisor,
                           FOVEA_DIVISOR_NONE, "to_state is 1, and a state does not count keys", error);
  const char *const why = "normaliser is not FOVEA_NORMALISER_SOFTMAX";
  if (!status) status = refuse_number(!softmax, "max_logits", p->max_logits, 0, why, error);
  if (!status) status = refuse_number(!softmax, "entropy", p->entropy, 0, why, error);
  if (!status) status = refuse_number(!softmax, "top_k", p->top_k, 0, why, error);
  if (!status) status = refuse_number(!softmax, "column_sums", p->column_sums, 0, why, error);
  return status;
}

static fovea_status refuse_range(int would_not_be_used, const char *name, fovea_range range, fovea_error *error) {
  if (!would_not_be_used || (range.begin == 0 && range.end == FOVEA_UNLIMITED)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %d to %d and would not be used: score_output is %s", name,
                    range.begin, range.end, "FOVEA_SCORES_NONE");
}

fovea_status fovea_refuse_unused_rules(const fovea_problem *problem, fovea_error *error) {
  const fovea_problem *p = problem;
  fovea_status status = refuse_number(p->chunk_size == 0, "chunk_left", p->chunk_left, 0, "chunk_size is 0", error);
  if (!status)
    status = refuse_number(p->chunk_size == 0, "chunk_right", p->chunk_right, 0, "chunk_size is 0", error);
  if (!status)
    status = refuse_number(p->offsets != NULL, "offset", p->offset, FOVEA_OFFSET_BOTTOM_RIGHT,
                           "offsets is not NULL", error);
  if (!status)
    status = refuse_pointer(!p->mask_type, "mask_begins", p->mask_begins, "mask_type is FOVEA_MASK_NONE", error);
  if (!status)
    status = refuse_number(!p->mask_type, "mask_begin", p->mask_begin, 0, "mask_type is FOVEA_MASK_NONE", error);
  if (!status)
    status = refuse_number(!p->mask_type, "mask_keys", p->mask_keys, FOVEA_UNLIMITED,
                           "mask_type is FOVEA_MASK_NONE", error);
  if (!status) status = refuse_pointer(p->patterns != NULL, "pattern", p->pattern, "patterns is not NULL", error);
  if (!status)
    status =
        refuse_number(p->mask_begins != NULL, "mask_begin", p->mask_begin, 0, "mask_begins is not NULL", error);
  if (!status)
    status = refuse_pointer(!p->allocator.allocate, "allocator.context", p->allocator.context,
                            "allocator.allocate is NULL", error);
  if (!status) status = refuse_pointer(p->term_count == 0, "terms", p->terms, "term_count is 0", error);
  if (!status)
    status = refuse_number(p->to_state, "score_output", (int64_t)p->score_output, FOVEA_SCORES_NONE,
                           "to_state is 1, and a state keeps no scores", error);
  if (!status)
    status =
        refuse_number(p->to_state, "max_logits", p->max_logits, 0, "to_state is 1, and a state keeps none", error);
  if (!status)
    status = refuse_number(p->to_state, "column_sums", p->column_sums, 0, "to_state is 1, and a state keeps none",
                           error);
  if (!status)
    status =
        refuse_number(!p->column_sums, "column_rows.begin", p->column_rows.begin, 0, "column_sums is 0", error);
  if (!status)
    status = refuse_number(!p->column_sums, "column_rows.end", p->column_rows.end, FOVEA_UNLIMITED,
                           "column_sums is 0", error);
  if (!status)
    status = refuse_number(p->to_state, "entropy", p->entropy, 0, "to_state is 1, and a state keeps none", error);
  if (!status)
    status = refuse_number(p->to_state, "top_k", p->top_k, 0, "to_state is 1, and a state keeps no keys", error);
  if (!status)
    status = refuse_real(p->score_activation == FOVEA_SCORE_ACTIVATION_NONE, "leaky_slope", p->leaky_slope,
                         "score_activation is FOVEA_SCORE_ACTIVATION_NONE", error);
  if (!status)
    status = refuse_number(!p->shaw, "shaw_distance", p->shaw_distance, 0, "shaw is FOVEA_SHAW_NONE", error);
  if (!status) status = refuse_number(!p->shaw, "shaw_heads", p->shaw_heads, 1, "shaw is FOVEA_SHAW_NONE", error);
  const char *const unscored = "scores is not FOVEA_MODE_INT8";
  const int scored = p->scores == FOVEA_MODE_INT8;
  if (!status) status = refuse_number(!scored, "key_centre", (int64_t)p->key_centre, 0, unscored, error);
  if (!status) status = refuse_number(!scored, "key_scale", (int64_t)p->key_scale, 0, unscored, error);
  if (!status)
    status = refuse_number(p->values != FOVEA_MODE_INT8, "value_scale", (int64_t)p->value_scale, 0,
                           "values is not FOVEA_MODE_INT8", error);
  if (!status) status = refuse_range(!p->score_output, "score_heads", p->score_heads, error);
  if (!status) status = refuse_range(!p->score_output, "score_rows", p->score_rows, error);
  if (!status) status = refuse_range(!p->score_output, "score_keys", p->score_keys, error);
  return status ? status : refuse_unused_normaliser(p, error);
}

fovea_status fovea_refuse_unused_sinks(const fovea_problem *problem, const fovea_tensors *tensors, int to_state,
                                       fovea_error *error) {
  const fovea_status status =
      refuse_pointer(to_state, "sinks", tensors->sinks,
                     "the result is a state, which has no sink: fovea_state_finish() takes them", error);
  if (status) return status;
  return refuse_pointer(problem->sink != FOVEA_SINK_PER_HEAD, "sinks", tensors->sinks,
                        "sink of the problem is not FOVEA_SINK_PER_HEAD", error);
}

fovea_status fovea_refuse_unused_lse(const fovea_problem *problem, const fovea_tensors *tensors,
                                     fovea_error *error) {
  return refuse_pointer(problem->normaliser != FOVEA_NORMALISER_SOFTMAX, "lse", tensors->lse,
                        "normaliser of the problem is not FOVEA_NORMALISER_SOFTMAX", error);
}

fovea_status fovea_refuse_unused_tensors(const fovea_problem *problem, const fovea_tensors *tensors,
                                         fovea_error *error) {
  fovea_status status =
      refuse_pointer(problem->segmented, "k", tensors->k, "segmented is 1, so keys come from sequences", error);
  if (!status)
    status =
        refuse_pointer(problem->segmented, "v", tensors->v, "segmented is 1, so values come from sequences", error);
  if (!status)
    status = refuse_pointer(!problem->segmented, "sequences", tensors->sequences, "segmented is 0", error);
  if (!status)
    status = refuse_number(!problem->segmented, "layer", tensors->layer, 0,
                           "segmented is 0, and only segments have layers", error);
  if (!status)
    status = refuse_pointer(!problem->mask_type, "mask", tensors->mask, "mask_type is FOVEA_MASK_NONE", error);
  if (!status)
    status = refuse_pointer(problem->to_state, "o", tensors->o, "to_state is 1, so the result is a state", error);
  if (!status)
    status =
        refuse_pointer(problem->to_state, "lse", tensors->lse, "to_state is 1, so the result is a state", error);
  if (!status) status = refuse_pointer(!problem->to_state, "state", tensors->state, "to_state is 0", error);
  if (!status)
    status = refuse_pointer(!problem->score_output, "scores", tensors->scores,
                            "score_output of the problem is FOVEA_SCORES_NONE", error);
  if (!status)
    status = refuse_pointer(problem->term_count == 0, "terms", tensors->terms, "the problem has no terms", error);
  if (!status)
    status = refuse_pointer(!(problem->scales & FOVEA_SCALES_PER_HEAD), "head_scales", tensors->head_scales,
                            "scales of the problem are not per head", error);
  if (!status)
    status = refuse_pointer(!(problem->scales & FOVEA_SCALES_PER_ROW), "row_scales", tensors->row_scales,
                            "scales of the problem are not per row", error);
  if (!status)
    status = refuse_pointer(!(problem->shaw & FOVEA_SHAW_KEYS), "shaw_keys", tensors->shaw_keys,
                            "shaw of the problem has no keys", error);
  if (!status)
    status = refuse_pointer(!(problem->shaw & FOVEA_SHAW_VALUES), "shaw_values", tensors->shaw_values,
                            "shaw of the problem has no values", error);
  if (!status)
    status = refuse_pointer(!problem->key_centre, "key_centre", tensors->key_centre,
                            "key_centre of the problem is FOVEA_VECTORS_NONE", error);
  if (!status)
    status = refuse_pointer(!problem->key_scale, "key_scale", tensors->key_scale,
                            "key_scale of the problem is FOVEA_VECTORS_NONE", error);
  if (!status)
    status = refuse_pointer(!problem->value_scale, "value_scale", tensors->value_scale,
                            "value_scale of the problem is FOVEA_VECTORS_NONE", error);
  if (!status) status = fovea_refuse_unused_lse(problem, tensors, error);
  if (!status)
    status = refuse_pointer(!problem->max_logits, "max_logits", tensors->max_logits,
                            "max_logits of the problem is 0", error);
  if (!status)
    status = refuse_pointer(!problem->column_sums, "column_sums", tensors->column_sums,
                            "column_sums of the problem is 0", error);
  if (!status)
    status = refuse_pointer(!problem->entropy, "entropy", tensors->entropy, "entropy of the problem is 0", error);
  if (!status)
    status = refuse_pointer(!problem->top_k, "top_keys", tensors->top_keys, "top_k of the problem is 0", error);
  if (!status)
    status = refuse_pointer(!problem->top_k, "top_scores", tensors->top_scores, "top_k of the problem is 0", error);
  return status ? status : fovea_refuse_unused_sinks(problem, tensors, problem->to_state, error);
}

fovea_status fovea_refuse_unused_execution(const fovea_execution *execution, fovea_error *error) {
  if (!execution->scratch && execution->scratch_size != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "scratch_size is %u and would not be used: scratch is NULL",
                      (uint64_t)execution->scratch_size);
  }
  return refuse_pointer(!execution->parallel_for, "parallel_context", execution->parallel_context,
                        "parallel_for is NULL", error);
}

fovea_status fovea_refuse_unused_scratch(const fovea_execution *execution, fovea_error *error) {
  return refuse_pointer(1, "scratch", execution->scratch, "this call needs none", error);
}

fovea_status fovea_refuse_unused_angles(const fovea_rotary *rotary, fovea_error *error) {
  const int tables = rotary->cosines || rotary->sines;
  if ((tables || rotary->frequencies) && rotary->base != 10000.0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "base is %g and would not be used: %s", rotary->base,
                      tables ? "cosines and sines are not NULL" : "frequencies is not NULL");
  }
  return refuse_number(!tables, "table_rows", rotary->table_rows, 0, "cosines is NULL", error);
}

fovea_status fovea_refuse_unused_axes(const fovea_rotary *rotary, fovea_error *error) {
  return refuse_pointer(rotary->axes == 1, "pair_axes", rotary->pair_axes, "axes is 1", error);
}

fovea_status fovea_refuse_unused_positions(const fovea_rotation *rotation, fovea_error *error) {
  const fovea_rotation *r = rotation;
  fovea_status status =
      refuse_pointer(r->positions != NULL, "first_positions", r->first_positions, "positions is not NULL", error);
  if (!status)
    status =
        refuse_number(r->positions != NULL, "first_position", r->first_position, 0, "positions is not NULL", error);
  if (!status)
    status = refuse_number(r->first_positions != NULL, "first_position", r->first_position, 0,
                           "first_positions is not NULL", error);
  return status;
}

fovea_status fovea_refuse_unused_position(const fovea_new_rows *rows, int with_rotary, fovea_error *error) {
  const fovea_status status =
      refuse_pointer(!with_rotary, "rotary_positions", rows->rotary_positions, "rotary is NULL", error);
  if (status) return status;
  return refuse_number(rows->first_positions != NULL, "first_position", rows->first_position, 0,
                       "first_positions is not NULL", error);
}
