#include "layer_scratch.h"

#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/memory.h"
#include "../src/base/validate.h"
#include "choose_table.h"

uint64_t fovea_nn_product(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t fovea_nn_bytes(int64_t a, int64_t b, int64_t c) {
  const uint64_t numbers = fovea_nn_product(fovea_nn_product((uint64_t)a, (uint64_t)b), (uint64_t)c);
  return fovea_nn_product(numbers, sizeof(float));
}

size_t fovea_nn_reserve(fovea_nn_scratch *scratch, uint64_t bytes) {
  const size_t begin = scratch->size, alignment = FOVEA_SCRATCH_ALIGNMENT;
  if (bytes > UINT64_C(1) << 60 || bytes > SIZE_MAX / 4 || scratch->size > SIZE_MAX / 4) {
    scratch->saturated = 1;
    return begin;
  }
  scratch->size += ((size_t)bytes + alignment - 1) / alignment * alignment;
  return begin;
}

size_t fovea_nn_reserve_for_either(fovea_nn_scratch *scratch, uint64_t bytes, uint64_t other_bytes) {
  return fovea_nn_reserve(scratch, bytes > other_bytes ? bytes : other_bytes);
}

fovea_status fovea_nn_obtain(const fovea_nn_scratch *scratch, const fovea_execution *execution, char **memory,
                             void **allocated, fovea_error *error) {
  const size_t size = fovea_nn_size_of(scratch);
  *memory = NULL;
  *allocated = NULL;
  if (execution->scratch) {
    const size_t needed = scratch->saturated ? SIZE_MAX : scratch->before + scratch->size;
    const fovea_status status = fovea_validate_scratch(execution->scratch, execution->scratch_size, needed, error);
    if (!status) *memory = (char *)execution->scratch + scratch->before;
    return status;
  }
  if (!scratch->saturated) *allocated = fovea_allocate(&execution->allocator, size);
  *memory = *allocated;
  return *memory ? FOVEA_OK
                 : fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for %ju bytes of scratch, aligned to %jd",
                              (uint64_t)size, (int64_t)FOVEA_SCRATCH_ALIGNMENT);
}

typedef struct steps_run {
  fovea_nn_steps *run;
  void *data;
  char *memory;
  fovea_status status;
  fovea_error *error;
} steps_run;

static void run_in_team(void *data, const fovea_execution *execution) {
  steps_run *r = data;
  r->status = r->run(r->data, r->memory, execution, r->error);
}

fovea_status fovea_nn_run_steps(fovea_nn_steps *run, void *data, const fovea_nn_scratch *scratch, double work,
                                const fovea_execution *execution, fovea_error *error) {
  const fovea_execution given = *execution; /* a copy that the steps do not change */
  steps_run r = {.run = run, .data = data, .error = error};
  void *allocated;
  r.status = fovea_nn_obtain(scratch, &given, &r.memory, &allocated, error);
  if (r.status) return r.status;
  if (given.parallel_for || given.threads == 1)
    run_in_team(&r, &given);
  else
    (void)fovea_team_run(run_in_team, &r, work, &given, NULL);
  fovea_release(&given.allocator, allocated);
  return r.status;
}

fovea_status fovea_nn_begin_measure(const fovea_execution *given, fovea_execution *execution, size_t *size,
                                    fovea_error *error) {
  if (!size) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "size is NULL");
  *size = 0;
  const fovea_status status = fovea_nn_read_execution(given, execution, error);
  if (!status) *execution = fovea_nn_without_scratch(execution);
  return status;
}

int fovea_nn_workers(const fovea_execution *execution) {
  if (execution->threads > 0) return execution->threads;
  return execution->parallel_for ? fovea_tasks_workers(INT64_MAX, 1e300, execution) : fovea_default_threads();
}

fovea_execution fovea_nn_without_scratch(const fovea_execution *execution) {
  fovea_execution rows = *execution;
  rows.scratch = NULL;
  rows.scratch_size = 0;
  return rows;
}

fovea_execution fovea_nn_with_scratch(const fovea_execution *execution, void *scratch, size_t size) {
  fovea_execution layers = *execution;
  layers.scratch = scratch;
  layers.scratch_size = size;
  return layers;
}

fovea_execution fovea_nn_alone(const fovea_execution *execution) {
  fovea_execution alone = fovea_nn_without_scratch(execution);
  alone.threads = 1;
  alone.parallel_for = NULL;
  alone.parallel_context = NULL;
  return alone;
}
