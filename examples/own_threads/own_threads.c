/* An engine whose own threads do the work: the pool of pool.c runs plans task by task, and gives the bits of
 * fovea_plan_run(). The engine gives scratch too, so a run allocates nothing. */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, DIM = 64, RUNS = 3 };

/* Q, K, V and two of each output, in one piece of memory. */
struct tensors {
  float *memory;
  fovea_tensors by_pool, by_library;
  size_t o_bytes, lse_bytes;
};

static int tensors_create(struct tensors *tensors, int64_t rows, int64_t keys) {
  size_t q = (size_t)(HEADS * rows * DIM), kv = (size_t)(KV_HEADS * keys * DIM), lse = (size_t)(HEADS * rows);
  size_t inputs = q + 2 * kv, outputs = q + lse;
  float *memory = tensors->memory = calloc(inputs + 2 * outputs, sizeof *memory);
  if (!memory) return 0;
  uint32_t state = 1;
  for (size_t i = 0; i < inputs; i++) {
    state = state * 1664525u + 1013904223u;
    memory[i] = (float)(state >> 16) / 16384.0f - 2.0f;
  }
  float *first = memory + inputs, *second = first + outputs;
  fovea_tensors_init(&tensors->by_pool, memory, memory + q, memory + q + kv, first, first + q);
  fovea_tensors_init(&tensors->by_library, memory, memory + q, memory + q + kv, second, second + q);
  tensors->o_bytes = q * sizeof *memory;
  tensors->lse_bytes = lse * sizeof *memory;
  return 1;
}

static int same_bits(const struct tensors *tensors) {
  return memcmp(tensors->by_pool.o, tensors->by_library.o, tensors->o_bytes) == 0 &&
         memcmp(tensors->by_pool.lse, tensors->by_library.lse, tensors->lse_bytes) == 0;
}

/* The first multiple of FOVEA_SCRATCH_ALIGNMENT in some memory. */
static void *aligned(void *memory) {
  return (char *)memory + (0 - (uintptr_t)memory) % FOVEA_SCRATCH_ALIGNMENT;
}

/* Runs a plan a few times, as for the layers of a model. Returns whether all runs succeeded with the library's
 * bits. */
static int run(struct pool *pool, const char *name, const fovea_plan *plan, struct tensors *tensors,
               void *scratch) {
  size_t size = fovea_plan_scratch_size(plan, POOL_WORKERS);
  fovea_error error;
  fovea_status status = fovea_plan_run(plan, &tensors->by_library, NULL, &error);
  int same = 1;
  for (int i = 0; i < RUNS && status == FOVEA_OK; i++) {
    memset(tensors->by_pool.o, 0xff, tensors->o_bytes);
    memset(tensors->by_pool.lse, 0xff, tensors->lse_bytes);
    status = pool_run(pool, plan, &tensors->by_pool, scratch, size, &error);
    same = same && same_bits(tensors);
  }
  if (status != FOVEA_OK) return fprintf(stderr, "%s: %s\n", name, error.text), 0;
  long long tasks = 0;
  for (int phase = 0; phase < fovea_plan_phases(plan); phase++) tasks += fovea_plan_tasks(plan, phase);
  printf("%-8s %d threads, phases: %d, tasks: %lld, %s\n", name, POOL_WORKERS, fovea_plan_phases(plan), tasks,
         same ? "the bits of fovea_plan_run()" : "OTHER BITS than fovea_plan_run()");
  return same;
}

static int example(struct pool *pool, const char *name, int64_t rows, int64_t keys) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, rows, keys, DIM, DIM);
  problem.causal = 1;
  if (fovea_plan_create(&problem, NULL, &plan, &error) != FOVEA_OK) return fprintf(stderr, "%s\n", error.text), 0;
  struct tensors tensors;
  int good = 0;
  void *memory = malloc(fovea_plan_scratch_size(plan, POOL_WORKERS) + FOVEA_SCRATCH_ALIGNMENT);
  if (tensors_create(&tensors, rows, keys) && memory) {
    good = run(pool, name, plan, &tensors, aligned(memory));
  } else {
    fputs("no memory\n", stderr);
  }
  free(tensors.memory);
  free(memory);
  fovea_plan_destroy(plan);
  return good;
}

int main(void) {
  static struct pool pool;
  if (!pool_start(&pool)) return fputs("no threads\n", stderr), 1;
  int good = example(&pool, "prefill", 160, 400);
  good &= example(&pool, "decode", 1, 5000);
  pool_stop(&pool);
  return good ? 0 : 1;
}
