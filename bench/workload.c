#define _DEFAULT_SOURCE /* madvise() */
#include "workload.h"

#include <fovea/pattern.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *bench_allocate(size_t bytes) {
  const size_t huge_page = (size_t)2 << 20;
  const size_t alignment = bytes < huge_page ? 64 : huge_page;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = aligned_alloc(alignment, rounded ? rounded : alignment);
  if (!memory) return NULL;
#if defined(MADV_HUGEPAGE)
  if (alignment == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  memset(memory, 0, rounded);
  return memory;
}

static void fill(float *values, size_t count, uint32_t seed) {
  uint32_t state = seed;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
  }
}

/* Between 20 and 500, in no order. */
static int64_t packed_length(int64_t entry) {
  return 20 + entry * 197 % 481;
}

static int create_entries(bench_workload *workload) {
  const bench_shape *shape = workload->shape;
  const size_t count = (size_t)shape->batch;
  workload->entries = calloc(count, sizeof *workload->entries);
  workload->cu_seqlens = calloc(count + 1, sizeof *workload->cu_seqlens);
  if (!workload->entries || !workload->cu_seqlens) return 0;
  workload->entry_count = shape->batch;
  int64_t first = 0;
  for (int64_t i = 0; i < shape->batch; i++) {
    bench_entry *entry = &workload->entries[i];
    *entry = (bench_entry){.batch = i, .rows = shape->q_len, .keys = shape->kv_len};
    if (shape->packed) {
      const int64_t length = packed_length(i);
      *entry = (bench_entry){.first_row = first, .rows = length, .first_key = first, .keys = length};
      first += length;
      workload->cu_seqlens[i + 1] = (int32_t)first;
    }
    if (entry->rows > workload->longest_entry) workload->longest_entry = entry->rows;
  }
  return 1;
}

static void describe(bench_workload *workload) {
  const bench_shape *shape = workload->shape;
  fovea_problem *problem = &workload->problem;
  const int64_t packed_rows = workload->cu_seqlens[shape->batch];
  const int64_t q_len = shape->packed ? packed_rows : shape->q_len;
  const int64_t kv_len = shape->packed ? packed_rows : shape->kv_len;
  fovea_problem_init(problem, shape->batch, shape->heads, shape->kv_heads, q_len, kv_len, shape->dim, shape->dim);
  fovea_problem_resolve(problem, NULL);
  problem->causal = shape->causal;
  if (shape->window_left) problem->window_left = shape->window_left;
  problem->chunks.size = shape->chunk_size;
  problem->chunks.left = shape->chunk_left;
  problem->softcap = shape->softcap;
  problem->modes.score = shape->scores;
  problem->modes.value = shape->values;
  if (shape->packed) problem->cu_seqlens_q = problem->cu_seqlens_kv = workload->cu_seqlens;
  if (shape->rows_before_heads) {
    problem->q_strides = fovea_strides_rows_before_heads(q_len, shape->heads, shape->dim);
    problem->o_strides = problem->q_strides;
    problem->k_strides = fovea_strides_rows_before_heads(kv_len, shape->kv_heads, shape->dim);
    problem->v_strides = problem->k_strides;
  }
}

int bench_workload_create(bench_workload *workload, const bench_shape *shape) {
  *workload = (bench_workload){.shape = shape};
  if (!create_entries(workload)) return 0;
  describe(workload);
  const fovea_problem *problem = &workload->problem;
  const int64_t batch = shape->packed ? 1 : shape->batch;
  const size_t queries = (size_t)(batch * problem->heads * problem->q_len * problem->qk_dim);
  const size_t keys = (size_t)(batch * problem->kv_heads * problem->kv_len * problem->qk_dim);
  workload->output_count = queries;
  workload->kv_bytes = 2 * keys * sizeof(float);
  workload->q = bench_allocate(queries * sizeof(float));
  workload->o = bench_allocate(queries * sizeof(float));
  workload->kv_memory = bench_allocate(workload->kv_bytes);
  if (!workload->q || !workload->o || !workload->kv_memory) return 0;
  workload->k = workload->kv_memory;
  workload->v = workload->k + keys;
  fill(workload->q, queries, 1);
  fill(workload->k, 2 * keys, 2);
  for (int64_t i = 0; i < workload->entry_count; i++)
    for (int64_t row = 0; row < workload->entries[i].rows; row++) {
      const bench_interval seen = bench_seen(shape, &workload->entries[i], row);
      workload->pairs_of_rules += shape->heads * (seen.to - seen.from);
    }
  workload->pairs_visible = workload->pairs_of_rules;
  fovea_tensors_init(&workload->tensors, workload->q, workload->k, workload->v, workload->o, NULL);
  return 1;
}

void bench_workload_destroy(bench_workload *workload) {
  free(workload->q);
  free(workload->o);
  free(workload->kv_memory);
  free(workload->halves);
  free(workload->mask);
  free(workload->term_numbers);
  free(workload->shaw);
  fovea_pattern_destroy(workload->pattern);
  free(workload->output);
  free(workload->page_table);
  free(workload->segments);
  free(workload->entries);
  free(workload->cu_seqlens);
  *workload = (bench_workload){0};
}

bench_interval bench_seen(const bench_shape *shape, const bench_entry *entry, int64_t row) {
  const int64_t own = row + entry->keys - entry->rows;
  bench_interval seen = {0, entry->keys};
  if (shape->causal && own + 1 < seen.to) seen.to = own + 1;
  if (shape->window_left && own - shape->window_left > seen.from) seen.from = own - shape->window_left;
  if (shape->chunk_size) {
    const int64_t chunk = own / shape->chunk_size * shape->chunk_size; /* no shape here has a negative own key */
    if (chunk - shape->chunk_left > seen.from) seen.from = chunk - shape->chunk_left;
    if (chunk + shape->chunk_size < seen.to) seen.to = chunk + shape->chunk_size;
  }
  if (seen.to < seen.from) seen.to = seen.from;
  return seen;
}

double bench_useful_flops(const bench_workload *workload) {
  return (double)workload->pairs_visible * 2.0 * (double)(workload->problem.qk_dim + workload->problem.v_dim);
}
