/* How far approximations are from exact attention: |variant - exact| / |exact|, all outputs as one vector, over
 * 4,096 positions. Inputs are random, which is the hardest case, since no key stands out; or queries and keys lie
 * in 64 clusters, with values that are alike in a cluster. */
#include "runner.h"
#include "variants.h"
#include "workload.h"

#include <fovea/pattern.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 4096, DIM = 64, CLUSTERS = 64, COUNT = LENGTH * DIM };

typedef struct error_case {
  const variant *variant;
  int64_t size;
  int clustered;
} error_case;

typedef struct inputs {
  float *q, *k, *v, *o, *exact;
} inputs;

static void free_inputs(const inputs *in) {
  free(in->q), free(in->k), free(in->v), free(in->o), free(in->exact);
}

/* numbers[i] = strength * the centre of its cluster + noise. Neighbours are in other clusters. */
static float *draw(const error_case *wanted, uint32_t seed, uint32_t centre_seed, float strength, float noise) {
  float *numbers = variant_draw(COUNT, seed, wanted->clustered ? noise : 1.7f);
  float *centres = variant_draw(CLUSTERS * DIM, centre_seed, 1.7f);
  for (int i = 0; numbers && centres && wanted->clustered && i < COUNT; i++) {
    numbers[i] += strength * centres[i / DIM * 37 % CLUSTERS * DIM + i % DIM];
  }
  free(centres);
  return numbers;
}

static int make_inputs(const error_case *wanted, inputs *in) {
  *in = (inputs){draw(wanted, 1, 20, 1, 0.3f), draw(wanted, 2, 20, 1, 0.3f), draw(wanted, 3, 21, 1, 1),
                 variant_draw(COUNT, 4, 1), variant_draw(COUNT, 5, 1)};
  return in->q && in->k && in->v && in->o && in->exact;
}

/* What Reformer approximates: keys are queries of length 1, and no row sees itself. */
static fovea_status run_shared(const inputs *in) {
  const fovea_rule own = fovea_rule_window(0, 0), others = fovea_rule_not(&own);
  fovea_pattern_options options;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_pattern *pattern;
  for (int row = 0; row < LENGTH; row++) {
    double square = 0;
    for (int d = 0; d < DIM; d++) square += (double)in->q[row * DIM + d] * (double)in->q[row * DIM + d];
    for (int d = 0; d < DIM; d++) in->k[row * DIM + d] = (float)((double)in->q[row * DIM + d] / sqrt(square));
  }
  fovea_pattern_options_init(&options, &others, LENGTH, LENGTH);
  fovea_status status = fovea_pattern_create(&options, &pattern, NULL);
  fovea_problem_init(&problem, 1, 1, 1, LENGTH, LENGTH, DIM, DIM);
  problem.pattern = pattern;
  problem.scale = 1; /* trax's: with 1 / sqrt(dim) all keys weigh nearly the same */
  fovea_tensors_init(&tensors, in->q, in->k, in->v, in->exact, NULL);
  if (!status) status = fovea_attend(&problem, &tensors, NULL, NULL);
  fovea_pattern_destroy(pattern);
  return status;
}

static fovea_status run_exact(const error_case *wanted, const inputs *in) {
  fovea_problem problem;
  fovea_tensors tensors;
  if (wanted->variant == &variant_reformer) return run_shared(in);
  fovea_problem_init(&problem, 1, 1, 1, LENGTH, LENGTH, DIM, DIM);
  problem.causal = wanted->variant->causal;
  fovea_tensors_init(&tensors, in->q, in->k, in->v, in->exact, NULL);
  return fovea_attend(&problem, &tensors, NULL, NULL);
}

static fovea_status run_variant(const error_case *wanted, const inputs *in) {
  const variant_call sizes = {.heads = 1,
                              .length = LENGTH,
                              .dim = DIM,
                              .size = wanted->size,
                              .threads = 1,
                              .q = in->q,
                              .k = in->k,
                              .v = in->v,
                              .o = in->o};
  variant_call *call = variant_begin(wanted->variant, &sizes);
  const fovea_status status = call ? variant_run(call) : FOVEA_ERROR_MEMORY;
  variant_end(call);
  return status;
}

static void bench_error(bench_round *round, const void *argument) {
  const error_case *wanted = argument;
  double difference = 0, size = 0;
  inputs in;
  if (!make_inputs(wanted, &in) || run_exact(wanted, &in) || run_variant(wanted, &in)) {
    bench_skip(round, "not enough memory, or the library refuses");
  } else {
    for (int i = 0; i < COUNT; i++) {
      const double exact = (double)in.exact[i], distance = (double)in.o[i] - exact;
      difference += distance * distance;
      size += exact * exact;
    }
    bench_seconds(round, 1e-3); /* nothing is timed */
    bench_counter(round, "error", sqrt(difference / size));
  }
  free_inputs(&in);
}

void bench_register_variant_errors(void) {
  static const error_case cases[] = {
      {&variant_performer, 64, 0},   {&variant_performer, 256, 0}, {&variant_performer, 1024, 0},
      {&variant_performer, 4096, 0}, {&variant_reformer, 1, 0},    {&variant_reformer, 4, 0},
      {&variant_reformer, 16, 0},
  };
  enum { KINDS = sizeof cases / sizeof *cases };
  static error_case both[2 * KINDS];
  for (int i = 0; i < 2 * KINDS; i++) {
    char name[128];
    both[i] = cases[i / 2];
    both[i].clustered = i % 2;
    snprintf(name, sizeof name, "variant_error/%s/%lld/%s", both[i].variant->name, (long long)both[i].size,
             both[i].clustered ? "clusters" : "random");
    bench_register(name, bench_error, &both[i], BENCH_MILLISECONDS);
  }
}
