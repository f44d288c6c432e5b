#include "describe.h"

#include "masks.h"

#include <inttypes.h>
#include <stdio.h>

static void describe_features(const fovea_problem *problem, char *text, size_t size) {
  static const char *const sinks[] = {"", " sinks", " sink 0"};
  const fovea_mask_strides *strides = &problem->mask_strides;
  int length = snprintf(text, size, " types %s %s %s %s", type_name(problem->q_type), type_name(problem->k_type),
                        type_name(problem->v_type), type_name(problem->o_type));
  if (problem->mask_type != FOVEA_MASK_NONE)
    length += snprintf(
        text + length, size - (size_t)length,
        " mask %s of %" PRId64 " keys from %" PRId64 "%s, strides %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64,
        mask_type_name(problem->mask_type), problem->mask_keys, problem->mask_begin,
        problem->mask_begins != NULL ? " begins" : "", strides->batch, strides->head, strides->row, strides->key);
  if (problem->holes) length += snprintf(text + length, size - (size_t)length, " holes");
  if (problem->scores != FOVEA_MODE_EXACT || problem->values != FOVEA_MODE_EXACT)
    length +=
        snprintf(text + length, size - (size_t)length, " modes %d %d", (int)problem->scores, (int)problem->values);
  if (problem->key_centre || problem->key_scale || problem->value_scale)
    length += snprintf(text + length, size - (size_t)length, " vectors %d %d %d", (int)problem->key_centre,
                       (int)problem->key_scale, (int)problem->value_scale);
  if (problem->top_k > 0) length += snprintf(text + length, size - (size_t)length, " top %d", (int)problem->top_k);
  if (problem->score_output != FOVEA_SCORES_NONE)
    length += snprintf(text + length, size - (size_t)length, " scores %d", (int)problem->score_output);
  if (problem->normaliser != FOVEA_NORMALISER_SOFTMAX)
    length +=
        snprintf(text + length, size - (size_t)length, " normaliser %d bias %g divisor %d value %g",
                 (int)problem->normaliser, problem->sigmoid_bias, (int)problem->divisor, problem->divisor_value);
  if (problem->score_activation != FOVEA_SCORE_ACTIVATION_NONE)
    length += snprintf(text + length, size - (size_t)length, " leaky %g", problem->leaky_slope);
  if (problem->softcap != 0.0)
    length += snprintf(text + length, size - (size_t)length, " softcap %g", problem->softcap);
  for (int64_t i = 0; i < problem->term_count; i++)
    length += snprintf(text + length, size - (size_t)length, " term %d", (int)problem->terms[i].kind);
  if (problem->scales != FOVEA_SCALES_NONE)
    length += snprintf(text + length, size - (size_t)length, " scales %d", (int)problem->scales);
  if (problem->shaw != FOVEA_SHAW_NONE)
    length += snprintf(text + length, size - (size_t)length, " shaw %d of %" PRId64 ", heads %" PRId64,
                       (int)problem->shaw, problem->shaw_distance, problem->shaw_heads);
  snprintf(text + length, size - (size_t)length, "%s", sinks[problem->sink]);
}

void problem_describe(const fovea_problem *problem, char *text, size_t size) {
  char features[480];
  describe_features(problem, features, sizeof features);
  snprintf(text, size,
           "batch %" PRId64 " heads %" PRId64 "/%" PRId64 " lens %" PRId64 "x%" PRId64 " dims %" PRId64 "/%" PRId64
           " scale %g causal %d window %" PRId64 ",%" PRId64 " chunk %" PRId64 ",%" PRId64 ",%" PRId64
           " offset %" PRId64 "%s%s%s%s%s%s%s",
           problem->batch, problem->heads, problem->kv_heads, problem->q_len, problem->kv_len, problem->qk_dim,
           problem->v_dim, problem->scale, problem->causal, problem->window_left, problem->window_right,
           problem->chunk_size, problem->chunk_left, problem->chunk_right, problem->offset,
           problem->offsets != NULL ? " offsets" : "", problem->q_lens != NULL ? " q_lens" : "",
           problem->kv_lens != NULL ? " kv_lens" : "", problem->kv_begins != NULL ? " kv_begins" : "",
           problem->cu_seqlens_q != NULL ? " cu_seqlens_q" : "",
           problem->cu_seqlens_kv != NULL ? " cu_seqlens_kv" : "", features);
}
