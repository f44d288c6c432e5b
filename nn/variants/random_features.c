/* Projections of random features. Gaussian numbers come from the method of Box and Muller (1958), from Philox's
 * counter; rows of a block are made orthogonal by Gram and Schmidt's method. Each step in double is one correctly
 * rounded operation, and no step calls a mathematical library, so the bits are the same on every machine.
 * docs/numerics.md, clause L15, states them. */
#include "../../arch/float_state.h"
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/memory.h"
#include "../../src/base/philox.h"
#include "../../src/base/validate.h"
#include "../../src/rotary/angle.h"
#include "../defaults.h"
#include "../matrix.h"
#include "../tasks.h"
#include "performer.h"

#include <math.h>
#include <string.h>

/* A product and a sum are two roundings, also in a build without flags (arch/shared/compiler.h). */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

typedef struct draw_job {
  const fovea_nn_random_features *random;
  float *projection;
  char *memory;       /* of all workers */
  size_t worker_size; /* bytes */
} draw_job;

void fovea_nn_random_features_init_sized(fovea_nn_random_features *random, size_t struct_size, int64_t features,
                                         int64_t dim) {
  const fovea_nn_random_features defaults = {
      .struct_size = struct_size, .features = features, .dim = dim, .orthogonal = 1};
  fovea_nn_write_defaults(random, struct_size, &defaults, sizeof defaults);
}

/* ---- Gaussian numbers -------------------------------------------------------------------------------------- */

/* ln x for 0 < x < 1, normal: x = 2^e z with z from sqrt(1/2) to sqrt(2), and ln z = 2 atanh((z - 1) / (z + 1)). */
static double logarithm(double x) {
  enum { LAST_TERM = 23 };
  const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd);
  uint64_t bits;
  double z;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t below = (root_half - bits + ((UINT64_C(1) << 52) - 1)) >> 52; /* -e, of x below the root */
  const uint64_t power = bits >= root_half ? 0 : below;
  bits += power << 52;
  memcpy(&z, &bits, sizeof z);
  const double s = (z - 1) / (z + 1), square = s * s;
  double sum = 1.0 / LAST_TERM;
  for (int term = LAST_TERM - 2; term >= 1; term -= 2) sum = sum * square + 1.0 / term;
  return 2 * s * sum - (double)(int)power * 0x1.62e42fefa39efp-1;
}

/* The Gaussian numbers 2 index and 2 index + 1 of a stream. Neither the uniform number nor the angle is ever a
 * limit of its range, so no number is 0 or infinite. */
static void gaussian_pair(const fovea_nn_random_features *r, uint64_t index, double pair[2]) {
  const fovea_philox counter = {
      {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)r->stream, (uint32_t)(r->stream >> 32)}};
  const fovea_philox random = fovea_philox_at(counter, (uint32_t)r->seed, (uint32_t)(r->seed >> 32));
  const uint64_t chance = (uint64_t)random.word[0] << 32 | random.word[1];
  const fovea_fraction turn = {(uint64_t)random.word[2] << 32 | random.word[3], UINT64_C(1) << 63};
  const double uniform = (double)(int64_t)(chance >> 12 << 1 | 1) * 0x1p-53;
  const double radius = sqrt(-2 * logarithm(uniform));
  float cosine, sine;
  fovea_angle_at(turn, 1, &cosine, &sine);
  pair[0] = radius * (double)cosine;
  pair[1] = radius * (double)sine;
}

/* A Gaussian vector. Each row of the projection has two: for its direction, and for its norm. */
static void gaussian_vector(const fovea_nn_random_features *r, int64_t vector, double *to) {
  const uint64_t pairs = (uint64_t)(r->dim / 2 + r->dim % 2), first = (uint64_t)vector * pairs;
  for (int64_t d = 0; d < r->dim; d += 2) {
    double pair[2];
    gaussian_pair(r, first + (uint64_t)(d / 2), pair);
    to[d] = pair[0];
    if (d + 1 < r->dim) to[d + 1] = pair[1];
  }
}

/* ---- Rows -------------------------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b, int64_t dim) {
  double sum = 0;
  for (int64_t d = 0; d < dim; d++) sum = sum + a[d] * b[d];
  return sum;
}

/* Takes the rows before it out of a row, twice, since the first time leaves rounding errors of what it takes
 * (Giraud et al., 2005: twice is enough), and gives it the norm 1. */
static void orthonormalise(double *block, int64_t row, int64_t dim) {
  double *v = block + row * dim;
  for (int time = 0; time < 2; time++) {
    for (int64_t i = 0; i < row; i++) {
      const double *other = block + i * dim, part = dot(v, other, dim);
      for (int64_t d = 0; d < dim; d++) v[d] = v[d] - part * other[d];
    }
  }
  const double inverse = 1 / sqrt(dot(v, v, dim));
  for (int64_t d = 0; d < dim; d++) v[d] = v[d] * inverse;
}

/* The norm of row i. `vector` has room for a row. */
static double norm_of(const fovea_nn_random_features *r, int64_t i, double *vector) {
  if (r->norms == FOVEA_NN_NORMS_CONSTANT) return sqrt((double)r->dim);
  gaussian_vector(r, 2 * i + 1, vector);
  return sqrt(dot(vector, vector, r->dim));
}

static void draw_orthogonal(const draw_job *job, int64_t block, int worker) {
  const fovea_nn_random_features *r = job->random;
  const int64_t first = block * r->dim, rest = r->features - first, rows = rest < r->dim ? rest : r->dim;
  double *numbers = (double *)(void *)(job->memory + (size_t)worker * job->worker_size), *vector = numbers;
  numbers += r->dim;
  for (int64_t i = 0; i < rows; i++) {
    double *row = numbers + i * r->dim;
    gaussian_vector(r, 2 * (first + i), row);
    orthonormalise(numbers, i, r->dim);
    const double norm = norm_of(r, first + i, vector);
    float *to = job->projection + (first + i) * r->dim;
    for (int64_t d = 0; d < r->dim; d++) to[d] = (float)(row[d] * norm);
  }
}

/* Of a Gaussian vector all norms are Gaussian already. It is computed twice if it is to have another. */
static void draw_independent(const draw_job *job, int64_t row) {
  const fovea_nn_random_features *r = job->random;
  const uint64_t pairs = (uint64_t)(r->dim / 2 + r->dim % 2), first = (uint64_t)(2 * row) * pairs;
  const int constant = r->norms == FOVEA_NN_NORMS_CONSTANT;
  float *to = job->projection + row * r->dim;
  double squares = 0, factor = 1;
  for (int pass = constant ? 0 : 1; pass < 2; pass++) {
    for (int64_t d = 0; d < r->dim; d++) {
      double pair[2];
      if (d % 2 == 0) gaussian_pair(r, first + (uint64_t)(d / 2), pair);
      if (pass == 0) squares = squares + pair[d % 2] * pair[d % 2];
      if (pass == 1) to[d] = (float)(pair[d % 2] * factor);
    }
    if (pass == 0) factor = 1 / sqrt(squares) * sqrt((double)r->dim);
  }
}

/* One block. */
static void draw_task(const void *data, int64_t task, int worker) {
  const draw_job *job = data;
  const fovea_nn_random_features *r = job->random;
  const fovea_float_state caller = fovea_float_begin();
  if (r->orthogonal) {
    draw_orthogonal(job, task, worker);
  } else {
    for (int64_t row = task * r->dim; row < r->features && row < (task + 1) * r->dim; row++) {
      draw_independent(job, row);
    }
  }
  fovea_float_end(caller);
}

/* ---- Calls ------------------------------------------------------------------------------------------------- */

static fovea_status read_random(const fovea_nn_random_features *given, fovea_nn_random_features *random,
                                fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("random", given, random, sizeof *random, error);
  if (status) return status;
  const fovea_bounded sizes[] = {{"features", given->features, 1, FOVEA_DIM_LIMIT},
                                 {"dim", given->dim, 1, FOVEA_DIM_LIMIT}};
  const fovea_bounded kinds[] = {{"orthogonal", given->orthogonal, 0, 1},
                                 {"norms", (int)given->norms, 0, FOVEA_NN_NORMS_CONSTANT}};
  status = fovea_validate_bounds("random", sizes, 2, error);
  if (!status) status = fovea_validate_bounds("random", kinds, 2, error);
  if (status) return status;
  int64_t elements;
  if (__builtin_mul_overflow(given->features, given->dim, &elements) || elements > INT64_C(1) << 57) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "features %jd times dim %jd is more than 2^57", given->features,
                      given->dim);
  }
  return FOVEA_OK;
}

static int64_t blocks_of(const fovea_nn_random_features *r) {
  return r->features / r->dim + (r->features % r->dim > 0);
}

/* Each worker has a block of doubles, and one row. */
static fovea_nn_scratch lay_out(const fovea_nn_random_features *r, int workers, size_t *worker_size) {
  fovea_nn_scratch worker = {0}, all = {0};
  const int64_t rows = r->features < r->dim ? r->features : r->dim;
  if (!r->orthogonal) return all;
  fovea_nn_reserve(&worker, fovea_nn_product(fovea_nn_bytes(2, rows + 1, r->dim), 1));
  *worker_size = worker.size;
  fovea_nn_reserve(&all, worker.saturated ? UINT64_MAX : fovea_nn_product(worker.size, (uint64_t)workers));
  return all;
}

/* No more workers than blocks. */
static int workers_of(const fovea_nn_random_features *r, int workers) {
  const int64_t blocks = blocks_of(r);
  return blocks < workers ? (int)blocks : workers;
}

static void run(const draw_job *job, const fovea_execution *execution, int workers) {
  const double element = 100, dim = (double)job->random->dim; /* multiply-adds */
  const double all = (double)job->random->features * dim,
               work = all * (element + (job->random->orthogonal ? dim : 0));
  const int64_t tasks = blocks_of(job->random);
  fovea_nn_run_tasks(draw_task, job, tasks, work, workers, execution);
}

fovea_status fovea_nn_random_features_draw(const fovea_nn_random_features *given, float *projection,
                                           const fovea_execution *given_execution, fovea_error *error) {
  fovea_nn_random_features random = {0};
  fovea_execution execution;
  draw_job job = {.random = &random, .projection = projection};
  void *allocated = NULL;
  fovea_status status = read_random(given, &random, error);
  if (status) return status;
  status = random.orthogonal ? fovea_read_execution(given_execution, &execution, error)
                             : fovea_read_row_execution(given_execution, &execution, error);
  const fovea_nn_matrix y = {"projection", projection, FOVEA_F32, random.features, random.dim, random.dim};
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  if (status) return status;
  const int workers = workers_of(&random, fovea_nn_workers(&execution));
  if (random.orthogonal) {
    const fovea_nn_scratch all = lay_out(&random, workers, &job.worker_size);
    status = fovea_nn_obtain(&all, &execution, &job.memory, &allocated, error);
  }
  if (!status) run(&job, &execution, workers);
  fovea_release(&execution.allocator, allocated);
  return status;
}

fovea_status fovea_nn_random_features_scratch_size(const fovea_nn_random_features *given,
                                                   const fovea_execution *execution, size_t *size,
                                                   fovea_error *error) {
  fovea_nn_random_features random = {0};
  fovea_execution measured;
  size_t worker_size;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = read_random(given, &random, error);
  if (status) return status;
  const fovea_nn_scratch all = lay_out(&random, workers_of(&random, fovea_nn_workers(&measured)), &worker_size);
  *size = fovea_nn_size_of(&all);
  return FOVEA_OK;
}
