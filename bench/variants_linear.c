/* Linear attention with each rule, and Performer. Decays are from -1 to 0, beta from 0 to 1, as in models. */
#include "variants.h"

#include <fovea/linear_attention.h>
#include <fovea/performer.h>
#include <stdlib.h>

/* ---- Linear attention -------------------------------------------------------------------------------------- */

typedef struct linear_call {
  fovea_nn_linear_attention attention;
  fovea_nn_linear_attention_tensors tensors;
} linear_call;

/* Numbers from `low` on to `low` + 1, one for each token. */
static const float *rates(variant_call *call, uint32_t seed, float low) {
  const size_t tokens = (size_t)(call->heads * call->length);
  float *numbers = variant_numbers(call, tokens, seed, 0.5f);
  for (size_t i = 0; numbers && i < tokens; i++) numbers[i] += low + 0.5f;
  call->bytes -= tokens * sizeof *numbers; /* inputs */
  return numbers;
}

static int begin_linear_rule(variant_call *call, fovea_nn_update_rule rule) {
  linear_call *own = call->own = calloc(1, sizeof *own);
  if (!own) return 0;
  fovea_nn_linear_attention_init(&own->attention, rule, call->heads, call->dim, call->dim);
  own->attention.unit = rule >= FOVEA_NN_UPDATE_DELTA;
  fovea_nn_linear_attention_tensors_init(&own->tensors, &own->attention, 1, call->length, call->q, call->k, call->v,
                                         call->o);
  if (rule % 2) own->tensors.decay = rates(call, 6, -1);
  if (rule >= FOVEA_NN_UPDATE_DELTA) own->tensors.beta = rates(call, 7, 0);
  size_t size;
  if (fovea_nn_linear_attention_scratch_size(&own->attention, &own->tensors, &call->execution, &size, NULL))
    return 0;
  return variant_scratch(call, size);
}

static int begin_linear(variant_call *call) {
  return begin_linear_rule(call, FOVEA_NN_UPDATE_LINEAR);
}
static int begin_gated(variant_call *call) {
  return begin_linear_rule(call, FOVEA_NN_UPDATE_GATED);
}
static int begin_delta(variant_call *call) {
  return begin_linear_rule(call, FOVEA_NN_UPDATE_DELTA);
}
static int begin_gated_delta(variant_call *call) {
  return begin_linear_rule(call, FOVEA_NN_UPDATE_GATED_DELTA);
}

static fovea_status run_linear(const variant_call *call) {
  const linear_call *own = call->own;
  return fovea_nn_linear_attention_run(&own->attention, &own->tensors, &call->execution, NULL);
}

static void end(variant_call *call) {
  free(call->own);
}

const variant variant_linear = {"linear", 1, begin_linear, run_linear, end};
const variant variant_gated = {"gated", 1, begin_gated, run_linear, end};
const variant variant_delta = {"delta", 1, begin_delta, run_linear, end};
const variant variant_gated_delta = {"gated_delta", 1, begin_gated_delta, run_linear, end};

/* ---- Performer --------------------------------------------------------------------------------------------- */

typedef struct performer_call {
  fovea_nn_performer performer;
  fovea_nn_performer_tensors tensors;
} performer_call;

static int begin_performer(variant_call *call) {
  const int64_t features = call->size ? call->size : 256;
  float *projection = variant_numbers(call, (size_t)(features * call->dim), 8, 1);
  fovea_nn_random_features random;
  performer_call *own = call->own = calloc(1, sizeof *own);
  fovea_nn_random_features_init(&random, features, call->dim);
  if (!own || !projection || fovea_nn_random_features_draw(&random, projection, NULL, NULL)) return 0;
  fovea_nn_performer_init(&own->performer, FOVEA_NN_PERFORMER_SOFTMAX, call->dim, features, projection);
  own->performer.causal = call->variant->causal;
  fovea_nn_performer_tensors_init(&own->tensors, &own->performer, 1, call->heads, call->heads, call->length,
                                  call->length, call->dim, call->q, call->k, call->v, call->o);
  size_t size;
  if (fovea_nn_performer_scratch_size(&own->performer, &own->tensors, &call->execution, &size, NULL)) return 0;
  return variant_scratch(call, size);
}

static fovea_status run_performer(const variant_call *call) {
  const performer_call *own = call->own;
  return fovea_nn_performer_run(&own->performer, &own->tensors, &call->execution, NULL);
}

const variant variant_performer = {"performer", 0, begin_performer, run_performer, end};
const variant variant_performer_causal = {"performer_causal", 1, begin_performer, run_performer, end};
