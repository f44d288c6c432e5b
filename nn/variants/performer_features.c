/* Features of rows as an output. */
#include "../../arch/float_state.h"
#include "../../src/base/types.h"
#include "../tasks.h"
#include "performer.h"

#include <math.h>
#include <string.h>

/* Where the parts of scratch begin. */
typedef struct layout {
  fovea_nn_scratch all;
  size_t panels, maxima, workers;
  uint64_t worker_numbers;
  int64_t blocks; /* of the rows of a head */
} layout;

typedef struct features_job {
  const fovea_nn_performer_call *call;
  const layout *layout;
  float *panels, *maxima, *workers;
} features_job;

/* Whether all rows share a stabiliser. */
static int is_shared(const fovea_nn_performer_call *call) {
  return call->map.stabilised && call->rows.keys;
}

static layout lay_out(const fovea_nn_performer_call *call, int workers) {
  const fovea_nn_feature_map *map = &call->map;
  const fovea_nn_performer_rows *r = &call->rows;
  const uint64_t heads = fovea_nn_product((uint64_t)r->batch, (uint64_t)r->heads);
  layout l = {.blocks = fovea_nn_ceil(r->rows, FOVEA_NN_MAP_ROWS)};
  const uint64_t maxima = fovea_nn_product(heads, (uint64_t)l.blocks);
  l.worker_numbers = fovea_nn_map_numbers(map, 0) + (uint64_t)map->feature_stride * FOVEA_NN_MAP_ROWS;
  l.worker_numbers = (l.worker_numbers + 15) / 16 * 16;
  l.panels = fovea_nn_reserve(&l.all, fovea_nn_product(fovea_nn_map_panel_numbers(map), sizeof(float)));
  l.maxima = fovea_nn_reserve(&l.all, fovea_nn_product(maxima, is_shared(call) ? sizeof(float) : 0));
  l.workers = fovea_nn_reserve(
      &l.all, fovea_nn_product(fovea_nn_product(l.worker_numbers, (uint64_t)workers), sizeof(float)));
  return l;
}

/* Some rows of a head. */
typedef struct row_block {
  int64_t entry, head, row;
  int rows, seen;
} row_block;

static row_block block_of(const features_job *job, int64_t task) {
  const fovea_nn_performer_rows *r = &job->call->rows;
  const int64_t blocks = job->layout->blocks;
  row_block b = {task / blocks / r->heads, task / blocks % r->heads, task % blocks * FOVEA_NN_MAP_ROWS, 0, 0};
  const int64_t rest = r->rows - b.row, seen = (r->lens ? r->lens[b.entry] : r->rows) - b.row;
  b.rows = rest < FOVEA_NN_MAP_ROWS ? (int)rest : FOVEA_NN_MAP_ROWS;
  b.seen = seen < 0 ? 0 : seen < b.rows ? (int)seen : b.rows;
  return b;
}

static fovea_nn_source source_of(const features_job *job, const row_block *b) {
  const fovea_nn_performer_rows *r = &job->call->rows;
  const int64_t at = b->entry * r->x_strides.batch + b->head * r->x_strides.head + b->row * r->x_strides.row;
  return (fovea_nn_source){fovea_element(r->x, r->x_type, at), r->x_type, r->x_strides.row};
}

static fovea_nn_map_memory memory_of(const features_job *job, int worker, float **features) {
  float *memory = job->workers + (uint64_t)worker * job->layout->worker_numbers;
  *features = memory + fovea_nn_map_numbers(&job->call->map, 0);
  return fovea_nn_map_memory_at(&job->call->map, memory);
}

static void pack_task(const void *data, int64_t task, int worker) {
  const features_job *job = data;
  const fovea_float_state caller = fovea_float_begin();
  (void)worker;
  fovea_nn_map_pack(&job->call->map, task, job->panels);
  fovea_float_end(caller);
}

static void maximum_task(const void *data, int64_t task, int worker) {
  const features_job *job = data;
  const row_block b = block_of(job, task);
  const fovea_nn_source source = source_of(job, &b);
  float *features;
  const fovea_nn_map_memory memory = memory_of(job, worker, &features);
  const fovea_float_state caller = fovea_float_begin();
  job->maxima[task] = b.seen > 0 ? fovea_nn_map_maximum(&job->call->map, &source, b.seen, &memory) : -INFINITY;
  fovea_float_end(caller);
}

static void write_task(const void *data, int64_t task, int worker) {
  const features_job *job = data;
  const fovea_nn_performer_rows *r = &job->call->rows;
  const fovea_nn_feature_map *map = &job->call->map;
  const row_block b = block_of(job, task);
  const fovea_nn_source source = source_of(job, &b);
  float *features, maximum = -INFINITY;
  const fovea_nn_map_memory memory = memory_of(job, worker, &features);
  const fovea_float_state caller = fovea_float_begin();
  const int64_t first = task / job->layout->blocks * job->layout->blocks;
  for (int64_t i = first; is_shared(job->call) && i < first + job->layout->blocks; i++) {
    maximum = job->maxima[i] > maximum ? job->maxima[i] : maximum;
  }
  if (b.seen > 0) {
    fovea_nn_map_rows(map, &source, b.seen, is_shared(job->call) ? &maximum : NULL, &memory, features);
  }
  memset(features + b.seen * map->feature_stride, 0,
         (size_t)((b.rows - b.seen) * map->feature_stride) * sizeof(float));
  for (int i = 0; i < b.rows; i++) {
    const int64_t at = b.entry * r->y_strides.batch + b.head * r->y_strides.head + (b.row + i) * r->y_strides.row;
    const fovea_nn_embed_args args = {.count = map->features,
                                      .x = features + i * map->feature_stride,
                                      .scale = 1,
                                      .y = fovea_output_element(r->y, r->y_type, at),
                                      .y_type = r->y_type};
    map->kernels->embed(&args);
  }
  fovea_float_end(caller);
}

static double work_of(const fovea_nn_performer_call *call) {
  const fovea_nn_performer_rows *r = &call->rows;
  return (double)r->batch * (double)r->heads * (double)r->rows * (double)call->map.dim *
         (double)call->map.features * (is_shared(call) ? 2 : 1);
}

static void run(fovea_nn_performer_call *call, const layout *l, char *memory, int workers) {
  const fovea_nn_performer_rows *r = &call->rows;
  const int64_t tasks = r->batch * r->heads * l->blocks, groups = call->map.groups;
  const features_job job = {call, l, (float *)(void *)(memory + l->panels), (float *)(void *)(memory + l->maxima),
                            (float *)(void *)(memory + l->workers)};
  call->map.panels = job.panels;
  const fovea_execution *e = &call->execution;
  const int count = fovea_nn_workers_for(tasks > groups ? tasks : groups, work_of(call), workers, e);
  (void)fovea_tasks_run(pack_task, &job, groups, count, e, NULL);
  if (is_shared(call)) (void)fovea_tasks_run(maximum_task, &job, tasks, count, e, NULL);
  (void)fovea_tasks_run(write_task, &job, tasks, count, e, NULL);
}

typedef struct features_run {
  fovea_nn_performer_call *call;
  const layout *layout;
  int workers; /* that have memory */
} features_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const features_run *r = data;
  (void)error;
  r->call->execution = *execution;
  run(r->call, r->layout, memory, r->workers);
  return FOVEA_OK;
}

fovea_status fovea_nn_performer_features(const fovea_nn_performer *performer, const fovea_nn_performer_rows *rows,
                                         const fovea_execution *execution, fovea_error *error) {
  fovea_nn_performer_call call;
  const fovea_status status = fovea_nn_check_performer_rows(performer, rows, execution, &call, error);
  if (status || call.rows.rows == 0) return status;
  const layout l = lay_out(&call, fovea_nn_workers(&call.execution));
  features_run r = {&call, &l, fovea_nn_workers(&call.execution)};
  return fovea_nn_run_steps(run_steps, &r, &l.all, work_of(&call), &call.execution, error);
}

fovea_status fovea_nn_performer_features_scratch_size(const fovea_nn_performer *performer,
                                                      const fovea_nn_performer_rows *rows,
                                                      const fovea_execution *execution, size_t *size,
                                                      fovea_error *error) {
  fovea_nn_performer_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_performer_rows(performer, rows, &measured, &call, error);
  if (status) return status;
  const layout l = lay_out(&call, fovea_nn_workers(&measured));
  *size = fovea_nn_size_of(&l.all);
  return FOVEA_OK;
}
