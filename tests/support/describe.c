#include "describe.h"

#include "masks.h"

#include <fovea/terms.h>
#include <inttypes.h>
#include <stdio.h>

static void describe_features(const fovea_problem *problem, char *text, size_t size) {
  static const char *const sinks[] = {"", " sinks", " sink 0"};
  const fovea_mask_strides *strides = &problem->mask.strides;
  int length = snprintf(text, size, " types %s %s %s %s", type_name(problem->q_type), type_name(problem->k_type),
                        type_name(problem->v_type), type_name(problem->o_type));
  if (problem->mask.type != FOVEA_MASK_NONE)
    length += snprintf(
        text + length, size - (size_t)length,
        " mask %s of %" PRId64 " keys from %" PRId64 "%s, strides %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64,
        mask_type_name(problem->mask.type), problem->mask.keys, problem->mask.begin,
        problem->mask.begins != NULL ? " begins" : "", strides->batch, strides->head, strides->row, strides->key);
  if (problem->cache.holes) length += snprintf(text + length, size - (size_t)length, " holes");
  if (problem->modes.score != FOVEA_MODE_EXACT || problem->modes.value != FOVEA_MODE_EXACT)
    length += snprintf(text + length, size - (size_t)length, " modes %d %d", (int)problem->modes.score,
                       (int)problem->modes.value);
  if (problem->channels.key_centre || problem->channels.key_scale || problem->channels.value_scale)
    length += snprintf(text + length, size - (size_t)length, " vectors %d %d %d", (int)problem->channels.key_centre,
                       (int)problem->channels.key_scale, (int)problem->channels.value_scale);
  if (problem->top.k > 0) length += snprintf(text + length, size - (size_t)length, " top %d", (int)problem->top.k);
  if (problem->scores.kind != FOVEA_SCORES_NONE)
    length += snprintf(text + length, size - (size_t)length, " scores %d", (int)problem->scores.kind);
  if (problem->normaliser.kind != FOVEA_NORMALISER_SOFTMAX)
    length += snprintf(text + length, size - (size_t)length, " normaliser %d bias %g divisor %d value %g",
                       (int)problem->normaliser.kind, problem->normaliser.sigmoid_bias,
                       (int)problem->normaliser.divisor, problem->normaliser.divisor_value);
  if (problem->activation.kind != FOVEA_SCORE_ACTIVATION_NONE)
    length += snprintf(text + length, size - (size_t)length, " leaky %g", problem->activation.leaky_slope);
  if (problem->softcap != 0.0)
    length += snprintf(text + length, size - (size_t)length, " softcap %g", problem->softcap);
  for (int64_t i = 0; i < problem->terms.count; i++)
    length += snprintf(text + length, size - (size_t)length, " term %d", (int)problem->terms.list[i].kind);
  if (problem->scales != FOVEA_SCALES_NONE)
    length += snprintf(text + length, size - (size_t)length, " scales %d", (int)problem->scales);
  if (problem->shaw.kind != FOVEA_SHAW_NONE)
    length += snprintf(text + length, size - (size_t)length, " shaw %d of %" PRId64 ", heads %" PRId64,
                       (int)problem->shaw.kind, problem->shaw.distance, problem->shaw.heads);
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
           problem->chunks.size, problem->chunks.left, problem->chunks.right, problem->offset,
           problem->offsets != NULL ? " offsets" : "", problem->q_lens != NULL ? " q_lens" : "",
           problem->kv_lens != NULL ? " kv_lens" : "", problem->kv_begins != NULL ? " kv_begins" : "",
           problem->cu_seqlens_q != NULL ? " cu_seqlens_q" : "",
           problem->cu_seqlens_kv != NULL ? " cu_seqlens_kv" : "", features);
}
