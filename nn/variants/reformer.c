/* LSH attention: some heads at a time through its steps, in scratch. */
#include "reformer.h"

#include "../../src/base/validate.h"
#include "../call_plan.h"
#include "../linear.h"
#include "../tasks.h"

#include <string.h>

/* Groups of chunks that are enough tasks for all workers. */
enum { TASKS = 64 };

/* Where the parts of scratch begin; what a worker has of it. */
typedef struct layout {
  fovea_nn_scratch all, worker;
  size_t panels, keys, states, order, places, workers;
  int64_t heads; /* of a piece */
  int64_t slots, panel_elements, rotations;
} layout;

/* The bytes of scratch that the layer of products uses in a task. */
static uint64_t bytes_of_layer(const fovea_nn_lsh_call *call) {
  const fovea_execution alone = fovea_nn_alone(&call->execution);
  fovea_nn_linear linear;
  fovea_nn_linear_init(&linear, call->tensors.dim, call->columns, NULL);
  linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear.weight_stride = 0;
  return fovea_nn_linear_bytes(&linear, FOVEA_NN_LSH_HASH_ROWS, &alone);
}

/* Heads of a piece: enough tasks, and no more memory than that needs. */
static layout lay_out(const fovea_nn_lsh_call *call, const fovea_plan *plan, const fovea_execution *execution) {
  const int workers = fovea_nn_workers(execution);
  const uint64_t attention = fovea_plan_scratch_size(plan, 1), products = bytes_of_layer(call);
  const fovea_nn_lsh *lsh = &call->lsh;
  const fovea_nn_lsh_tensors *t = &call->tensors;
  layout l = {.slots = call->group * call->groups * lsh->bucket_size};
  const int64_t fair = TASKS / (lsh->rounds * call->groups) + 1, all = t->batch * t->heads;
  l.heads = fair < all ? fair : all;
  l.panel_elements = fovea_nn_panel_elements(t->dim, call->columns, FOVEA_F32);
  l.rotations = (t->rotation_strides.batch ? t->batch : 1) * (t->rotation_strides.head ? t->heads : 1);
  l.panels = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.rotations, lsh->rounds, l.panel_elements));
  l.keys = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads, t->length, t->dim));
  l.states = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads * lsh->rounds, l.slots, t->v_dim + 2));
  l.order = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads, lsh->rounds, l.slots));
  l.places = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads, lsh->rounds, t->length));
  l.worker = fovea_nn_lsh_worker_scratch(call, attention > products ? attention : products);
  if (l.panel_elements == 0 || l.worker.saturated) l.all.saturated = 1;
  l.workers = fovea_nn_reserve(&l.all, fovea_nn_product(l.worker.size, (uint64_t)workers));
  return l;
}

/* R of a round as packed weights. Columns that do not exist are zeros. */
static void pack(const float *rotations, int64_t stride, int64_t dim, int64_t columns, float *panels) {
  for (int64_t first = 0; first < columns; first += FOVEA_NN_PANEL) {
    const int64_t count = columns - first < FOVEA_NN_PANEL ? columns - first : FOVEA_NN_PANEL;
    for (int64_t d = 0; d < dim; d++) {
      float *to = panels + fovea_nn_weight_place(dim, columns, FOVEA_F32, d, first);
      memset(to, 0, FOVEA_NN_PANEL * sizeof *to);
      memcpy(to, rotations + d * stride + first, (size_t)count * sizeof *to);
    }
  }
}

static void pack_all(const fovea_nn_lsh_call *call, const layout *l, float *panels) {
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const fovea_strides s = t->rotation_strides;
  const int64_t heads = s.head ? t->heads : 1;
  for (int64_t i = 0; i < l->rotations * call->lsh.rounds; i++) {
    const int64_t round = i % call->lsh.rounds, which = i / call->lsh.rounds;
    const float *from = t->rotations + which / heads * s.batch + which % heads * s.head + round * call->columns;
    pack(from, s.row, t->dim, call->columns, panels + i * l->panel_elements);
  }
}

/* Multiply-adds of so many heads. */
static double work_of(const fovea_nn_lsh_call *call, int64_t heads) {
  const int64_t row_work = call->tensors.dim * (call->columns + 4 * call->lsh.bucket_size);
  return (double)(heads * call->lsh.rounds) * (double)call->tensors.length * (double)row_work;
}

static void run_piece(const fovea_nn_lsh_piece *piece, const fovea_execution *execution) {
  const fovea_nn_lsh_call *call = piece->call;
  const int64_t rounds = call->lsh.rounds, blocks = fovea_nn_lsh_row_blocks(call);
  const int64_t chunk_tasks = piece->count * rounds * call->groups, row_tasks = piece->count * blocks;
  const double work = work_of(call, piece->count);
  const int workers = fovea_tasks_workers(chunk_tasks > row_tasks ? chunk_tasks : row_tasks, work, execution);
  (void)fovea_tasks_run(fovea_nn_lsh_hash_task, piece, row_tasks, workers, execution, NULL);
  (void)fovea_tasks_run(fovea_nn_lsh_sort_task, piece, piece->count * rounds, workers, execution, NULL);
  (void)fovea_tasks_run(fovea_nn_lsh_chunk_task, piece, chunk_tasks, workers, execution, NULL);
  (void)fovea_tasks_run(fovea_nn_lsh_merge_task, piece, row_tasks, workers, execution, NULL);
}

static void run(const fovea_nn_lsh_call *call, const layout *l, const fovea_plan *plan, char *memory) {
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  const int64_t all = call->tensors.batch * call->tensors.heads;
  fovea_nn_lsh_piece piece = {.call = call,
                              .slots = l->slots,
                              .panels = (float *)(void *)(memory + l->panels),
                              .panel_elements = l->panel_elements,
                              .plan = plan,
                              .keys = (float *)(void *)(memory + l->keys),
                              .states = (float *)(void *)(memory + l->states),
                              .order = (int32_t *)(void *)(memory + l->order),
                              .places = (int32_t *)(void *)(memory + l->places),
                              .workers = memory + l->workers,
                              .worker_size = l->worker.size};
  pack_all(call, l, (float *)(void *)(memory + l->panels));
  for (; piece.first < all; piece.first += l->heads) {
    piece.count = all - piece.first < l->heads ? all - piece.first : l->heads;
    run_piece(&piece, &rows);
  }
}

typedef struct lsh_run {
  fovea_nn_lsh_call *call;
  const layout *layout;
  const fovea_plan *plan;
} lsh_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const lsh_run *r = data;
  (void)error;
  r->call->execution = *execution;
  if (r->call->tensors.length > 0) run(r->call, r->layout, r->plan, memory);
  return FOVEA_OK;
}

/* In scratch from byte `before` on, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_lsh_call *call, const fovea_plan *plan, size_t before,
                                  fovea_error *error) {
  const int64_t heads = call->tensors.batch * call->tensors.heads;
  layout l = lay_out(call, plan, &call->execution);
  lsh_run r = {call, &l, plan};
  l.all.before = before;
  return fovea_nn_run_steps(run_steps, &r, &l.all, work_of(call, heads), &call->execution, error);
}

fovea_status fovea_nn_lsh_run(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                              const fovea_execution *execution, fovea_error *error) {
  fovea_nn_lsh_call call;
  fovea_status status = fovea_nn_check_lsh(lsh, tensors, execution, &call, error);
  if (status) return status;
  const fovea_problem problem = fovea_nn_lsh_problem(&call);
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&call.execution);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  status = fovea_nn_find_plan(&plan, &problem, 0, &found, error);
  if (!status) status = run_in_memory(&call, found, fovea_nn_plans_end(&plans), error);
  fovea_nn_release_plan(&plan);
  return status;
}

fovea_status fovea_nn_lsh_scratch_size(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                                       const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_nn_lsh_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_lsh(lsh, tensors, &measured, &call, error);
  if (status) return status;
  const fovea_problem problem = fovea_nn_lsh_problem(&call);
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&measured);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  status = fovea_nn_find_plan(&plan, &problem, 0, &found, error);
  if (!status) {
    const layout l = lay_out(&call, found, &measured);
    *size = fovea_nn_scratch_size(&plans, &l.all);
  }
  fovea_nn_release_plan(&plan);
  return status;
}
