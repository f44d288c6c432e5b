/* The patterns that shapes name. */
#include "patterns.h"

#include <fovea/pattern.h>
#include <stdlib.h>

enum { block = 64, side = 64 };

/* Rules and lists of one pattern, which the library copies. */
typedef struct rule_table {
  fovea_rule rules[8];
  int count;
  int64_t *numbers, *starts;
} rule_table;

static const fovea_rule *keep(rule_table *table, fovea_rule rule) {
  table->rules[table->count] = rule;
  return &table->rules[table->count++];
}

static const fovea_rule *causal_and(rule_table *table, fovea_rule rule) {
  const fovea_rule *causal = keep(table, fovea_rule_causal());
  return keep(table, fovea_rule_and(causal, keep(table, rule)));
}

static const fovea_rule *documents(rule_table *table, int64_t keys, int64_t length) {
  for (int64_t i = 0; i < keys; i++) table->numbers[i] = i / length;
  return causal_and(table, fovea_rule_documents(table->numbers, NULL, keys));
}

static const fovea_rule *window_or_global(rule_table *table, int64_t before, int64_t after, int64_t globals) {
  for (int64_t i = 0; i < globals; i++) table->numbers[i] = i;
  const fovea_rule *window = keep(table, fovea_rule_window(before, after));
  return keep(table, fovea_rule_or(window, keep(table, fovea_rule_global(table->numbers, globals))));
}

/* A tenth of the blocks, and the blocks of the diagonal. */
static const fovea_rule *blocks(rule_table *table, int64_t keys) {
  const int64_t count = keys / block;
  uint32_t state = 1;
  int64_t used = 0;
  for (int64_t i = 0; i < count; i++) {
    for (int64_t j = 0; j < count; j++) {
      state = state * 1664525u + 1013904223u;
      if (i == j || (state >> 16) % 10 == 0) table->numbers[used++] = j;
    }
    table->starts[i + 1] = used;
  }
  return keep(table, fovea_rule_blocks(block, block, count, table->starts, table->numbers));
}

static const fovea_rule *grid(rule_table *table) {
  const fovea_rule_axis axes[2] = {{side, 13, 1, 0}, {side, 13, 1, 0}};
  return keep(table, fovea_rule_neighbourhood(2, axes));
}

static const fovea_rule *rule_of(rule_table *table, bench_pattern pattern, int64_t keys) {
  const fovea_rule *either;
  switch (pattern) {
  case BENCH_PATTERN_WINDOW_512:
    return causal_and(table, fovea_rule_window(511, 0));
  case BENCH_PATTERN_WINDOW_128:
    return causal_and(table, fovea_rule_window(127, 0));
  case BENCH_PATTERN_WINDOW_GLOBAL:
    either = window_or_global(table, 511, 0, 64);
    return keep(table, fovea_rule_and(keep(table, fovea_rule_causal()), either));
  case BENCH_PATTERN_LONGFORMER:
    return window_or_global(table, 256, 256, 4);
  case BENCH_PATTERN_CHUNKS_512:
    return keep(table, fovea_rule_chunks(512, 512, 0));
  case BENCH_PATTERN_PREFIX:
    either = keep(table, fovea_rule_keys(0, keys / 4));
    return keep(table, fovea_rule_or(keep(table, fovea_rule_causal()), either));
  case BENCH_PATTERN_DOCUMENTS_512:
    return documents(table, keys, 512);
  case BENCH_PATTERN_DOCUMENTS_128:
    return documents(table, keys, 128);
  case BENCH_PATTERN_BLOCKS:
    return blocks(table, keys);
  default:
    return grid(table);
  }
}

/* Key by key, since the plan's own count is to be checked. */
static int64_t count_pairs(const fovea_pattern *pattern, const bench_shape *shape) {
  int64_t pairs = 0;
  for (int64_t row = 0; row < shape->q_len; row++)
    for (int64_t key = 0; key < shape->kv_len; key++) pairs += fovea_pattern_sees(pattern, 0, row, key);
  return pairs * shape->heads;
}

int bench_pattern_create(bench_workload *workload) {
  const bench_shape *shape = workload->shape;
  const int64_t keys = shape->kv_len, all_blocks = (keys / block) * (keys / block);
  if (!shape->pattern) return 1;
  rule_table table = {.numbers = calloc((size_t)(keys + all_blocks), sizeof *table.numbers),
                      .starts = calloc((size_t)(keys / block + 1), sizeof *table.starts)};
  int made = table.numbers && table.starts;
  if (made) {
    fovea_pattern_options options;
    fovea_pattern_options_init(&options, rule_of(&table, shape->pattern, keys), shape->q_len, keys);
    made = fovea_pattern_create(&options, &workload->pattern, NULL) == FOVEA_OK;
  }
  free(table.numbers);
  free(table.starts);
  if (!made) return 0;
  workload->problem.pattern = workload->pattern;
  workload->pairs_visible = workload->pairs_of_rules = count_pairs(workload->pattern, shape);
  return 1;
}
