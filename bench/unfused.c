#include "unfused.h"

#include "machine.h"
#include "vector_kernels.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

/* Rows of one head whose scores are held at once. */
typedef struct unfused_task {
  bench_entry entry;
  int64_t head, first_row, rows;
  bench_interval keys; /* that some of the rows see */
} unfused_task;

struct unfused {
  const bench_workload *workload;
  const vector_kernels *kernels;
  int threads;
  int64_t block_rows;
  unfused_task *tasks;
  int64_t task_count;
  float *scores; /* of all threads */
  size_t scores_per_thread;
};

static int64_t min_int64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* A few floats lie between rows of the score matrix: rows at multiples of 4 KB thrash the first-level cache. */
static int64_t score_stride(const unfused_task *task) {
  return (task->keys.to - task->keys.from + 15) / 16 * 16 + 16;
}

static int64_t count_tasks(const bench_workload *workload, int64_t block_rows) {
  int64_t count = 0;
  for (int64_t i = 0; i < workload->entry_count; i++)
    count += workload->shape->heads * ((workload->entries[i].rows + block_rows - 1) / block_rows);
  return count;
}

/* Last rows first: under a causal rule they are the longest tasks, and the threads end together. */
static void fill_tasks(unfused *self) {
  const bench_workload *workload = self->workload;
  unfused_task *task = self->tasks;
  const int64_t blocks = (workload->longest_entry + self->block_rows - 1) / self->block_rows;
  for (int64_t block = blocks - 1; block >= 0; block--)
    for (int64_t i = 0; i < workload->entry_count; i++)
      for (int64_t head = 0; head < workload->shape->heads; head++) {
        const bench_entry *entry = &workload->entries[i];
        const int64_t first_row = block * self->block_rows;
        if (first_row >= entry->rows) continue;
        const int64_t rows = min_int64(self->block_rows, entry->rows - first_row);
        /* Both ends of the intervals grow with the row. */
        const int64_t from = bench_seen(workload->shape, entry, first_row).from;
        const int64_t to = bench_seen(workload->shape, entry, first_row + rows - 1).to;
        *task++ = (unfused_task){*entry, head, first_row, rows, {from, to}};
      }
}

unfused *unfused_create(const bench_workload *workload, int threads, int64_t block_rows) {
  unfused *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->workload = workload;
  self->kernels = vector_kernels_best();
  self->threads = threads;
  self->block_rows = min_int64(block_rows, workload->longest_entry);
  self->task_count = count_tasks(workload, self->block_rows);
  if (self->task_count > 0) self->tasks = calloc((size_t)self->task_count, sizeof *self->tasks);
  if (self->tasks && self->kernels) {
    fill_tasks(self);
    for (int64_t i = 0; i < self->task_count; i++) {
      const size_t needed = (size_t)(self->tasks[i].rows * score_stride(&self->tasks[i]));
      if (needed > self->scores_per_thread) self->scores_per_thread = needed;
    }
    self->scores = bench_allocate((size_t)threads * self->scores_per_thread * sizeof(float));
  }
  if (!self->scores) {
    unfused_destroy(self);
    return NULL;
  }
  return self;
}

void unfused_destroy(unfused *self) {
  if (!self) return;
  free(self->tasks);
  free(self->scores);
  free(self);
}

int64_t unfused_block_rows(const unfused *self) {
  return self->block_rows;
}

/* Makes weights of the scores of one row, 0 for keys that the row does not see. Returns their sum. */
static float weigh_row(const unfused *self, const unfused_task *task, int64_t row, float *scores) {
  const bench_interval seen = bench_seen(self->workload->shape, &task->entry, task->first_row + row);
  const size_t before = (size_t)(seen.from - task->keys.from), after = (size_t)(task->keys.to - seen.to);
  const size_t count = (size_t)(seen.to - seen.from);
  memset(scores, 0, before * sizeof *scores);
  memset(scores + before + count, 0, after * sizeof *scores);
  return self->kernels->softmax_row(scores + before, count);
}

/* Where a task's rows of queries and outputs lie, and the keys and values that they use. */
typedef struct unfused_operands {
  const float *q, *k, *v;
  float *o;
  int rows, keys, dim, score_stride, q_stride, k_stride, v_stride, o_stride;
} unfused_operands;

static unfused_operands operands_of(const bench_workload *workload, const unfused_task *task) {
  const fovea_problem *problem = &workload->problem;
  const int64_t kv_head = task->head / (problem->heads / problem->kv_heads), batch = task->entry.batch;
  const int64_t row = task->entry.first_row + task->first_row, key = task->entry.first_key + task->keys.from;
  const fovea_strides *qs = &problem->q_strides, *ks = &problem->k_strides, *vs = &problem->v_strides;
  const fovea_strides *os = &problem->o_strides;
  return (unfused_operands){
      .q = workload->q + batch * qs->batch + task->head * qs->head + row * qs->row,
      .k = workload->k + batch * ks->batch + kv_head * ks->head + key * ks->row,
      .v = workload->v + batch * vs->batch + kv_head * vs->head + key * vs->row,
      .o = workload->o + batch * os->batch + task->head * os->head + row * os->row,
      .rows = (int)task->rows,
      .keys = (int)(task->keys.to - task->keys.from),
      .dim = (int)problem->qk_dim,
      .score_stride = (int)score_stride(task),
      .q_stride = (int)qs->row,
      .k_stride = (int)ks->row,
      .v_stride = (int)vs->row,
      .o_stride = (int)os->row,
  };
}

/* Scores are in log2 units: the factor of the product includes log2(e). */
static void multiply_queries_keys(const unfused_operands *x, float factor, float *scores) {
  if (x->rows == 1)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, x->keys, x->dim, factor, x->k, x->k_stride, x->q, 1, 0.0f, scores, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, x->rows, x->keys, x->dim, factor, x->q, x->q_stride, x->k,
                x->k_stride, 0.0f, scores, x->score_stride);
}

static void multiply_weights_values(const unfused_operands *x, const float *weights) {
  if (x->rows == 1)
    cblas_sgemv(CblasRowMajor, CblasTrans, x->keys, x->dim, 1.0f, x->v, x->v_stride, weights, 1, 0.0f, x->o, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, x->rows, x->dim, x->keys, 1.0f, weights, x->score_stride,
                x->v, x->v_stride, 0.0f, x->o, x->o_stride);
}

/* The output is divided by the sum, not the weights: a row of the output is shorter. */
static void run_task(const unfused *self, const unfused_task *task, float *scores) {
  const unfused_operands x = operands_of(self->workload, task);
  const float log2_e = 1.44269504f;
  multiply_queries_keys(&x, (float)self->workload->problem.scale * log2_e, scores);
  float *sums = scores + x.score_stride - 1; /* in the space between the rows */
  for (int64_t i = 0; i < x.rows; i++)
    sums[i * x.score_stride] = weigh_row(self, task, i, scores + i * x.score_stride);
  multiply_weights_values(&x, scores);
  for (int64_t i = 0; i < x.rows; i++) {
    const float factor = 1.0f / sums[i * x.score_stride];
    for (int64_t d = 0; d < x.dim; d++) x.o[i * x.o_stride + d] *= factor;
  }
}

void unfused_run(const unfused *self) {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(self->threads) schedule(dynamic)
#endif
  for (int64_t i = 0; i < self->task_count; i++) {
#if defined(_OPENMP)
    float *scores = self->scores + (size_t)omp_get_thread_num() * self->scores_per_thread;
#else
    float *scores = self->scores;
#endif
    run_task(self, &self->tasks[i], scores);
  }
}

/* The fastest of up to three runs, within a time that lets large problems try every size. */
static double time_of(const unfused *self) {
  double best = INFINITY, spent = 0.0;
  for (int i = 0; i < 3 && spent < 0.2; i++) {
    const double start = machine_now();
    unfused_run(self);
    const double seconds = machine_now() - start;
    if (seconds < best) best = seconds;
    spent += seconds;
  }
  return best;
}

unfused *unfused_create_blocked(const bench_workload *workload, int threads) {
  static const int64_t sizes[] = {64, 128, 192, 256, 384, 512, 1024};
  unfused *best = NULL;
  double best_seconds = INFINITY;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unfused *tried = unfused_create(workload, threads, sizes[i]);
    if (!tried) continue;
    const double seconds = time_of(tried);
    unfused *loser = tried;
    if (seconds < best_seconds) {
      loser = best;
      best = tried;
      best_seconds = seconds;
    }
    unfused_destroy(loser);
    if (sizes[i] >= workload->longest_entry) break;
  }
  return best;
}
