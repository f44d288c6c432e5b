/* Linformer, latent attention, differential attention. */
#include "variants.h"

#include <fovea/latent_attention.h>
#include <stdlib.h>

enum { ROTATED = 32 };

static void end(variant_call *call) {
  free(call->own);
}

/* ---- Linformer --------------------------------------------------------------------------------------------- */

typedef struct linformer_call {
  fovea_nn_linformer linformer;
  fovea_problem problem;
} linformer_call;

static int begin_linformer(variant_call *call) {
  const int64_t projected = call->size ? call->size : 256;
  const size_t count = (size_t)(call->length * projected);
  const float *e = variant_numbers(call, count, 9, 0.1f), *f = variant_numbers(call, count, 10, 0.1f);
  linformer_call *own = call->own = calloc(1, sizeof *own);
  if (!own || !e || !f) return 0;
  fovea_nn_linformer_init(&own->linformer, call->length, projected, e);
  own->linformer.value_projection = f;
  fovea_problem_init(&own->problem, 1, call->heads, call->heads, call->length, call->length, call->dim, call->dim);
  fovea_problem_resolve(&own->problem, NULL);
  size_t size;
  if (fovea_nn_linformer_scratch_size(&own->linformer, &own->problem, &call->execution, &size, NULL)) return 0;
  return variant_scratch(call, size);
}

static fovea_status run_linformer(const variant_call *call) {
  const linformer_call *own = call->own;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, call->q, call->k, call->v, call->o, NULL);
  return fovea_nn_linformer_run(&own->linformer, &own->problem, &tensors, &call->execution, NULL);
}

const variant variant_linformer = {"linformer", 0, begin_linformer, run_linformer, end};

/* ---- Differential attention, with halves of q and k -------------------------------------------------------- */

typedef struct differential_call {
  fovea_nn_differential differential;
  fovea_problem problem;
} differential_call;

static int begin_differential(variant_call *call) {
  differential_call *own = call->own = calloc(1, sizeof *own);
  if (!own) return 0;
  fovea_nn_differential_init(&own->differential, 0.5, 0.2);
  fovea_problem_init(&own->problem, 1, call->heads, call->heads, call->length, call->length, call->dim / 2,
                     call->dim);
  fovea_problem_resolve(&own->problem, NULL);
  own->problem.causal = 1;
  own->problem.q_strides = own->problem.k_strides = own->problem.v_strides;
  size_t size;
  if (fovea_nn_differential_scratch_size(&own->differential, &own->problem, &call->execution, &size, NULL))
    return 0;
  return variant_scratch(call, size);
}

static fovea_status run_differential(const variant_call *call) {
  const differential_call *own = call->own;
  fovea_tensors first, second;
  fovea_tensors_init(&first, call->q, call->k, call->v, call->o, NULL);
  fovea_tensors_init(&second, call->q + call->dim / 2, call->k + call->dim / 2, call->v, NULL, NULL);
  return fovea_nn_differential_run(&own->differential, &own->problem, &first, &second, &call->execution, NULL);
}

const variant variant_differential = {"differential", 1, begin_differential, run_differential, end};

/* ---- Latent attention: x is q, and a row of a cache has as many numbers as a head -------------------------- */

typedef struct latent_call {
  fovea_nn_latent latent;
  fovea_nn_linear query, down, up, output;
  fovea_rotary rotary;
  fovea_problem problem;
} latent_call;

static int set_layers(variant_call *call, latent_call *own) {
  const int64_t dim = call->dim, heads = call->heads, rank = dim;
  const float *weights = variant_numbers(call, (size_t)(8 * dim * dim * heads + 4096), 11, 0.1f);
  if (!weights) return 0;
  fovea_nn_linear_init(&own->query, dim, heads * dim, weights);
  fovea_nn_linear_init(&own->down, dim, rank + ROTATED, weights);
  fovea_nn_linear_init(&own->up, rank, heads * (dim - ROTATED + dim), weights);
  fovea_nn_linear_init(&own->output, heads * dim, dim, weights);
  fovea_rotary_init(&own->rotary, FOVEA_ROTARY_INTERLEAVED, ROTATED);
  fovea_nn_latent_init(&own->latent, heads, rank, dim - ROTATED, ROTATED, dim);
  own->latent.q_b_proj = &own->query;
  own->latent.kv_a_proj = &own->down;
  own->latent.kv_b_proj = &own->up;
  own->latent.o_proj = &own->output;
  own->latent.rotary = &own->rotary;
  return 1;
}

static int begin_latent_form(variant_call *call, fovea_nn_latent_form form) {
  latent_call *own = call->own = calloc(1, sizeof *own);
  if (!own || !set_layers(call, own)) return 0;
  if (form == FOVEA_NN_LATENT_ABSORBED) {
    int64_t elements;
    if (fovea_nn_latent_absorbed_elements(&own->latent, &elements, NULL)) return 0;
    float *absorbed = variant_numbers(call, (size_t)elements, 12, 1);
    if (!absorbed || fovea_nn_latent_absorb(&own->latent, absorbed, NULL)) return 0;
    own->latent.form = form;
    own->latent.absorbed = absorbed;
  }
  fovea_problem_init(&own->problem, 1, call->heads, call->heads, call->length, call->length, call->dim, call->dim);
  fovea_problem_resolve(&own->problem, NULL);
  own->problem.causal = 1;
  size_t size;
  if (fovea_nn_latent_scratch_size(&own->latent, &own->problem, NULL, &call->execution, &size, NULL)) return 0;
  return variant_scratch(call, size);
}

static int begin_latent(variant_call *call) {
  return begin_latent_form(call, FOVEA_NN_LATENT_EXPANDED);
}
static int begin_latent_absorbed(variant_call *call) {
  return begin_latent_form(call, FOVEA_NN_LATENT_ABSORBED);
}

static fovea_status run_latent(const variant_call *call) {
  const latent_call *own = call->own;
  fovea_nn_latent_tensors tensors;
  fovea_nn_latent_tensors_init(&tensors, call->q, call->o);
  return fovea_nn_latent_run(&own->latent, &own->problem, &tensors, &call->execution, NULL);
}

const variant variant_latent = {"latent", 1, begin_latent, run_latent, end};
const variant variant_latent_absorbed = {"latent_absorbed", 1, begin_latent_absorbed, run_latent, end};
