/* LSH attention: some heads at a time through its steps, in scratch. */
#include "reformer.h"

#include "../../src/base/memory.h"
#include "../../src/base/validate.h"
#include "../../src/system/schedule.h"
#include "../layer_scratch.h"
#include "../linear.h"

#include <string.h>

/* Groups of chunks that are enough tasks for all workers. */
enum { TASKS = 64 };

/* Where the parts of scratch begin; what a worker has of it. */
typedef struct layout {
  fovea_nn_scratch all, worker;
  size_t plan, panels, keys, states, order, places, workers;
  int64_t heads; /* of a piece */
  int64_t slots, panel_elements, rotations;
} layout;

/* Heads of a piece: enough tasks, and no more memory than that needs. */
static layout lay_out(const fovea_nn_lsh_call *call, size_t run, int workers) {
  const fovea_nn_lsh *lsh = &call->lsh;
  const fovea_nn_lsh_tensors *t = &call->tensors;
  layout l = {.slots = call->group * call->groups * lsh->bucket_size};
  const int64_t fair = TASKS / (lsh->rounds * call->groups) + 1, all = t->batch * t->heads;
  l.heads = fair < all ? fair : all;
  l.panel_elements = fovea_nn_panel_elements(t->dim, call->columns, FOVEA_F32);
  l.rotations = (t->rotation_strides.batch ? t->batch : 1) * (t->rotation_strides.head ? t->heads : 1);
  l.plan = fovea_nn_reserve(&l.all, fovea_plan_size(call->group));
  l.panels = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.rotations, lsh->rounds, l.panel_elements));
  l.keys = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads, t->length, t->dim));
  l.states = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads * lsh->rounds, l.slots, t->v_dim + 2));
  l.order = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads, lsh->rounds, l.slots));
  l.places = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.heads, lsh->rounds, t->length));
  l.worker = fovea_nn_lsh_worker_scratch(call, run);
  if (l.panel_elements == 0 || l.worker.saturated) l.all.saturated = 1;
  l.workers = fovea_nn_reserve(&l.all, fovea_nn_product(l.worker.size, (uint64_t)workers));
  return l;
}

/* R of a round: [panel][dim][column]. Columns that do not exist are zeros. */
static void pack(const float *rotations, int64_t stride, int64_t dim, int64_t columns, float *panels) {
  for (int64_t first = 0; first < columns; first += FOVEA_NN_PANEL, panels += dim * FOVEA_NN_PANEL) {
    const int64_t count = columns - first < FOVEA_NN_PANEL ? columns - first : FOVEA_NN_PANEL;
    for (int64_t d = 0; d < dim; d++) {
      memset(panels + d * FOVEA_NN_PANEL, 0, FOVEA_NN_PANEL * sizeof *panels);
      memcpy(panels + d * FOVEA_NN_PANEL, rotations + d * stride + first, (size_t)count * sizeof *panels);
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

static void run_piece(const fovea_nn_lsh_piece *piece, const fovea_execution *execution) {
  const fovea_nn_lsh_call *call = piece->call;
  const int64_t rounds = call->lsh.rounds, blocks = fovea_nn_lsh_row_blocks(call);
  const int64_t chunk_tasks = piece->count * rounds * call->groups, row_tasks = piece->count * blocks;
  const int64_t row_work = call->tensors.dim * (call->columns + 4 * call->lsh.bucket_size);
  const double work = (double)(piece->count * rounds) * (double)call->tensors.length * (double)row_work;
  const fovea_job job = {piece,
                         work,
                         4,
                         {{row_tasks, fovea_nn_lsh_hash_task},
                          {piece->count * rounds, fovea_nn_lsh_sort_task},
                          {chunk_tasks, fovea_nn_lsh_chunk_task},
                          {row_tasks, fovea_nn_lsh_merge_task}}};
  const int64_t most = chunk_tasks > row_tasks ? chunk_tasks : row_tasks;
  fovea_schedule_run(&job, execution, fovea_schedule_workers(most, work, execution));
}

static fovea_status run(const fovea_nn_lsh_call *call, const layout *l, char *memory, fovea_error *error) {
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  const fovea_problem problem = fovea_nn_lsh_problem(call);
  const int64_t all = call->tensors.batch * call->tensors.heads;
  fovea_plan *plan;
  const fovea_status status = fovea_plan_create_in(&problem, memory + l->plan, l->panels - l->plan, &plan, error);
  if (status || call->tensors.length == 0) return status;
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
  return FOVEA_OK;
}

/* Makes a plan of a group, to know the sizes of all parts. */
static fovea_status measure(const fovea_nn_lsh_call *call, int workers, layout *l, fovea_error *error) {
  const fovea_execution *e = &call->execution;
  const fovea_problem problem = fovea_nn_lsh_problem(call);
  const size_t bytes = fovea_plan_size(call->group);
  fovea_plan *plan;
  fovea_status status = FOVEA_OK;
  if (e->scratch) status = fovea_validate_scratch(e->scratch, e->scratch_size, bytes, error);
  if (status) return status;
  status = e->scratch ? fovea_plan_create_in(&problem, e->scratch, bytes, &plan, error)
                      : fovea_plan_create(&problem, &plan, error);
  if (status) return status;
  *l = lay_out(call, fovea_plan_scratch_size(plan, 1), workers);
  fovea_plan_destroy(plan);
  return FOVEA_OK;
}

fovea_status fovea_nn_lsh_run(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                              const fovea_execution *execution, fovea_error *error) {
  fovea_nn_lsh_call call;
  layout l;
  char *memory;
  void *allocated;
  fovea_status status = fovea_nn_check_lsh(lsh, tensors, execution, &call, error);
  if (!status) status = measure(&call, fovea_nn_workers(&call.execution), &l, error);
  if (!status) status = fovea_nn_obtain(&l.all, &call.execution, &call.lsh.allocator, &memory, &allocated, error);
  if (status) return status;
  status = run(&call, &l, memory, error);
  fovea_release(&call.lsh.allocator, allocated);
  return status;
}

size_t fovea_nn_lsh_scratch_size(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors, int workers) {
  fovea_nn_lsh_call call;
  layout l;
  if (fovea_nn_check_lsh(lsh, tensors, NULL, &call, NULL) != FOVEA_OK) return 0;
  if (measure(&call, workers > 0 ? workers : fovea_default_threads(), &l, NULL) != FOVEA_OK) return 0;
  return l.all.saturated ? SIZE_MAX : l.all.size;
}
