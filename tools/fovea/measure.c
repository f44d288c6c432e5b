#include "measure.h"

#include "convert.h"
#include "system.h"

#include <stdlib.h>
#include <string.h>

/* Numbers that are neither tiny nor large in any type. */
enum { BYTE_OF_NUMBERS = 0x3c };
enum { HEADS = 8, ROWS = 512, DECODED_BYTES = 128 << 20 };

static const double least_seconds = 0.3;

typedef struct measured_run {
  fovea_problem problem;
  fovea_plan *plan;
  void *q, *k, *v, *o;
} measured_run;

static void *numbers_of(int64_t rows, int64_t dim, fovea_type type) {
  const size_t bytes = (size_t)(HEADS * rows * dim) * type_size(type);
  void *numbers = malloc(bytes);
  if (numbers) memset(numbers, BYTE_OF_NUMBERS, bytes);
  return numbers;
}

static bool make(measured_run *run, const fovea_problem *like, const fovea_execution *execution, int64_t rows,
                 int64_t keys, failure *why) {
  fovea_problem *p = &run->problem;
  fovea_error error;
  fovea_problem_init(p, 1, HEADS, HEADS, rows, keys, like->qk_dim, like->v_dim);
  p->q_type = like->q_type;
  p->k_type = like->k_type;
  p->v_type = like->v_type;
  p->o_type = like->o_type;
  p->modes.score = like->modes.score;
  p->modes.value = like->modes.value;
  run->q = numbers_of(rows, p->qk_dim, p->q_type);
  run->k = numbers_of(keys, p->qk_dim, p->k_type);
  run->v = numbers_of(keys, p->v_dim, p->v_type);
  run->o = numbers_of(rows, p->v_dim, p->o_type);
  if (!run->q || !run->k || !run->v || !run->o) return fail(why, "--measure: out of memory");
  return fovea_plan_create(p, execution, &run->plan, &error) == FOVEA_OK || fail(why, "--measure: %s", error.text);
}

/* The time of the fastest of some runs. */
static bool time_runs(const measured_run *run, const fovea_execution *execution, double *seconds, failure *why) {
  fovea_tensors tensors;
  fovea_error error;
  fovea_tensors_init(&tensors, run->q, run->k, run->v, run->o, NULL);
  *seconds = 1e9;
  const double start = system_seconds();
  for (double now = start, end; now - start < least_seconds; now = end) {
    if (fovea_plan_run(run->plan, &tensors, execution, &error) != FOVEA_OK)
      return fail(why, "--measure: %s", error.text);
    end = system_seconds();
    if (end - now < *seconds) *seconds = end - now;
  }
  if (*seconds <= 0) *seconds = 1e-9; /* the clock stood still */
  return true;
}

static bool measure(const fovea_problem *like, const fovea_execution *execution, int64_t rows, int64_t keys,
                    double *seconds, failure *why) {
  measured_run run = {.plan = NULL};
  const bool done = make(&run, like, execution, rows, keys, why) && time_runs(&run, execution, seconds, why);
  fovea_plan_destroy(run.plan);
  free(run.q);
  free(run.k);
  free(run.v);
  free(run.o);
  return done;
}

bool measure_rates(const fovea_problem *like, const fovea_execution *execution, measured_rates *rates,
                   failure *why) {
  enum { MOST_DIM = 4096 };
  if (like->qk_dim > MOST_DIM || like->v_dim > MOST_DIM)
    return fail(why, "--measure: dims of more than %d are not measured", MOST_DIM);
  const double dims = (double)like->qk_dim + (double)like->v_dim;
  const int64_t key_bytes =
      like->qk_dim * (int64_t)type_size(like->k_type) + like->v_dim * (int64_t)type_size(like->v_type);
  const int64_t keys = DECODED_BYTES / (HEADS * key_bytes);
  double seconds;
  if (!measure(like, execution, ROWS, ROWS, &seconds, why)) return false;
  rates->flops_per_second = 2 * dims * HEADS * ROWS * ROWS / seconds;
  if (!measure(like, execution, 1, keys, &seconds, why)) return false;
  rates->bytes_per_second = (double)HEADS * (double)keys * (double)key_bytes / seconds;
  return true;
}
