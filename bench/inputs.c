/* Half-precision copies of a workload's tensors; masks, terms and outputs. */
#include "inputs.h"

#include "patterns.h"

#include <stdlib.h>
#include <string.h>

enum { tile = 64 };

/* For numbers from 2^-14 to 2, and zero. Rounds towards zero, so that no instruction set is needed here. */
static uint16_t half_of(float number, fovea_type type) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (type == FOVEA_BF16) return (uint16_t)(bits >> 16);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, least = (uint32_t)(127 - 14) << 23;
  return (uint16_t)(magnitude < least ? sign : sign | (magnitude - ((uint32_t)(127 - 15) << 23)) >> 13);
}

static uint16_t *store_halves(uint16_t *to, const float *from, size_t count, fovea_type type) {
  for (size_t i = 0; i < count; i++) to[i] = half_of(from[i], type);
  return to + count;
}

static int create_halves(bench_workload *workload) {
  const fovea_type type = workload->shape->type;
  fovea_problem *problem = &workload->problem;
  problem->q_type = problem->k_type = problem->v_type = problem->o_type = type;
  if (type == FOVEA_F32) return 1;
  const size_t queries = workload->output_count, keys = workload->kv_bytes / sizeof(float) / 2;
  workload->halves = bench_allocate(2 * queries * sizeof *workload->halves);
  uint16_t *k = bench_allocate(2 * keys * sizeof *k);
  if (!workload->halves || !k) {
    free(k);
    return 0;
  }
  uint16_t *q = workload->halves, *o = store_halves(q, workload->q, queries, type);
  uint16_t *v = store_halves(k, workload->k, keys, type);
  store_halves(v, workload->v, keys, type);
  fovea_tensors_init(&workload->tensors, q, k, v, o, NULL);
  free(workload->kv_memory); /* long caches would take twice as much more */
  workload->kv_memory = k;
  workload->kv_bytes = 2 * keys * sizeof *k;
  workload->k = workload->v = NULL;
  return 1;
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void fill_added(float *mask, size_t count) {
  uint32_t state = 3;
  for (size_t i = 0; i < count; i++) mask[i] = (float)next_random(&state) * 0x1p-22f - 2.0f;
}

/* Leaves exactly half of the tiles, at random: each with the probability of tiles still wanted among tiles left. */
static int64_t empty_half_of_tiles(unsigned char *mask, int64_t rows, int64_t keys) {
  uint32_t state = 4;
  int64_t left = (rows / tile) * (keys / tile), wanted = left / 2, emptied = 0;
  for (int64_t row = 0; row + tile <= rows; row += tile)
    for (int64_t key = 0; key + tile <= keys; key += tile, left--) {
      if ((int64_t)next_random(&state) % left >= wanted) continue;
      for (int64_t i = row; i < row + tile; i++) memset(mask + i * keys + key, 0, tile);
      wanted--;
      emptied++;
    }
  return emptied * tile * tile;
}

static int create_mask(bench_workload *workload) {
  const bench_shape *shape = workload->shape;
  fovea_problem *problem = &workload->problem;
  if (shape->mask == BENCH_NO_MASK) return 1;
  const int added = shape->mask == BENCH_MASK_ADDED;
  const size_t count = (size_t)(shape->q_len * shape->kv_len);
  problem->mask.type = added ? FOVEA_MASK_F32 : FOVEA_MASK_BOOL;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, 1, 1, shape->q_len, shape->kv_len);
  workload->mask = bench_allocate(added ? count * sizeof(float) : count);
  if (!workload->mask) return 0;
  if (added)
    fill_added(workload->mask, count);
  else
    memset(workload->mask, 1, count);
  if (shape->mask == BENCH_MASK_HALF_TILES)
    workload->pairs_visible -=
        shape->batch * shape->heads * empty_half_of_tiles(workload->mask, shape->q_len, shape->kv_len);
  workload->tensors.mask = workload->mask;
  return 1;
}

/* Tables as models store them. The numbers of a table for all distances are most. */
static int create_term(bench_workload *workload) {
  const bench_shape *shape = workload->shape;
  const int64_t heads = shape->heads, keys = shape->kv_len;
  if (!shape->term) return 1;
  workload->term = shape->term == FOVEA_POSITION_T5         ? fovea_term_t5(heads, 32, 128, 1)
                   : shape->term == FOVEA_POSITION_GRID     ? fovea_term_grid(heads, 1, (keys + 6) / 7, 7)
                   : shape->term == FOVEA_POSITION_RELATIVE ? fovea_term_relative(keys - 1, keys - 1)
                                                            : fovea_term_alibi(shape->term != FOVEA_POSITION_ALIBI);
  const size_t count = (size_t)(heads * (32 + 13 * (2 * keys + 14)));
  workload->terms[0] = workload->term_numbers = bench_allocate(count * sizeof(float));
  if (!workload->term_numbers) return 0;
  fill_added(workload->term_numbers, count);
  fovea_problem_set_terms(&workload->problem, &workload->term, 1);
  workload->tensors.terms = workload->terms;
  return 1;
}

/* Shaw's keys and values, which all heads share. */
static int create_shaw(bench_workload *workload) {
  const int64_t distance = workload->shape->shaw;
  const size_t count = (size_t)((2 * distance + 1) * workload->shape->dim);
  if (!distance) return 1;
  workload->shaw = bench_allocate(2 * count * sizeof(float));
  if (!workload->shaw) return 0;
  fill_added(workload->shaw, 2 * count);
  workload->problem.shaw.kind = FOVEA_SHAW_BOTH;
  workload->problem.shaw.distance = distance;
  workload->tensors.shaw.keys = workload->shaw;
  workload->tensors.shaw.values = workload->shaw + count;
  return 1;
}

static int create_output(bench_workload *workload) {
  enum { top_keys = 64 };
  fovea_problem *problem = &workload->problem;
  fovea_tensors *tensors = &workload->tensors;
  const int64_t heads = problem->batch * problem->heads, keys = problem->kv_len;
  const bench_output output = workload->shape->output;
  if (!output) return 1;
  const int64_t numbers_of_row = output == BENCH_OUTPUT_WEIGHTS   ? keys
                                 : output == BENCH_OUTPUT_ENTROPY ? 1
                                                                  : top_keys;
  const int64_t numbers = output == BENCH_OUTPUT_COLUMN_SUMS ? keys : problem->q_len * numbers_of_row;
  workload->output = bench_allocate((size_t)(heads * numbers) *
                                    (output == BENCH_OUTPUT_TOP_KEYS ? sizeof(int64_t) : sizeof(float)));
  if (!workload->output) return 0;
  problem->column_sums.wanted = output == BENCH_OUTPUT_COLUMN_SUMS;
  problem->entropy = output == BENCH_OUTPUT_ENTROPY;
  problem->top.k = output == BENCH_OUTPUT_TOP_KEYS ? top_keys : 0;
  problem->scores.kind = output == BENCH_OUTPUT_WEIGHTS ? FOVEA_SCORES_WEIGHTS : FOVEA_SCORES_NONE;
  if (output == BENCH_OUTPUT_COLUMN_SUMS) tensors->column_sums = workload->output;
  if (output == BENCH_OUTPUT_ENTROPY) tensors->entropy = workload->output;
  if (output == BENCH_OUTPUT_TOP_KEYS) tensors->top.keys = workload->output;
  if (output == BENCH_OUTPUT_WEIGHTS) tensors->scores = workload->output;
  return 1;
}

int bench_inputs_create(bench_workload *workload) {
  return create_halves(workload) && create_mask(workload) && create_term(workload) && create_shaw(workload) &&
         bench_pattern_create(workload) && create_output(workload);
}
