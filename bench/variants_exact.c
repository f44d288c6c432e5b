/* Exact attention, and exact attention over a window and global tokens. */
#include "variants.h"

#include <fovea/pattern.h>
#include <stdlib.h>

typedef struct exact_call {
  fovea_pattern *pattern; /* NULL: without one */
  fovea_plan *plan;
} exact_call;

static int plan(variant_call *call, fovea_problem *problem) {
  exact_call *exact = call->own;
  problem->pattern = exact->pattern;
  if (fovea_plan_create(problem, NULL, &exact->plan, NULL)) return 0;
  call->bytes += fovea_plan_size(1) + fovea_pattern_bytes(exact->pattern);
  return variant_scratch(call, fovea_plan_scratch_size(exact->plan, call->threads));
}

static int begin(variant_call *call) {
  const int64_t length = call->length, heads = call->heads, dim = call->dim;
  fovea_problem problem;
  call->own = calloc(1, sizeof(exact_call));
  if (!call->own) return 0;
  fovea_problem_init(&problem, 1, heads, heads, length, length, dim, dim);
  problem.causal = call->variant->causal;
  return plan(call, &problem);
}

/* 256 keys to both sides, and one global token. */
static int begin_window(variant_call *call) {
  const int64_t length = call->length, heads = call->heads, dim = call->dim, first = 0;
  const fovea_rule window = fovea_rule_window(256, 256), global = fovea_rule_global(&first, 1);
  const fovea_rule rule = fovea_rule_or(&window, &global);
  fovea_pattern_options options;
  fovea_problem problem;
  exact_call *exact = call->own = calloc(1, sizeof *exact);
  fovea_pattern_options_init(&options, &rule, length, length);
  if (!exact || fovea_pattern_create(&options, &exact->pattern, NULL)) return 0;
  fovea_problem_init(&problem, 1, heads, heads, length, length, dim, dim);
  return plan(call, &problem);
}

static fovea_status run(const variant_call *call) {
  const exact_call *exact = call->own;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, call->q, call->k, call->v, call->o, NULL);
  return fovea_plan_run(exact->plan, &tensors, &call->execution, NULL);
}

static void end(variant_call *call) {
  exact_call *exact = call->own;
  if (!exact) return;
  fovea_plan_destroy(exact->plan);
  fovea_pattern_destroy(exact->pattern);
  free(exact);
}

const variant variant_exact = {"exact", 0, begin, run, end};
const variant variant_exact_causal = {"exact_causal", 1, begin, run, end};
const variant variant_window = {"window", 0, begin_window, run, end};
