#include "patterns.h"

#include "cases.h"

#include <stdio.h>

#define SIZES(heads_, length_, dim_)                                                                               \
  .batch = 1, .heads = heads_, .kv_heads = heads_, .q_len = length_, .kv_len = length_, .dim = dim_

/* Over the same shape without a pattern, which sees every key. */
#define PATTERN(dim_, name_, pattern_)                                                                             \
  {                                                                                                                \
    .shape = {.name = "paired/h4_s4096_d" #dim_ "/" name_, SIZES(4, 4096, dim_), .pattern = pattern_},             \
    .plain = {.name = "dense", SIZES(4, 4096, dim_)}, .ratio = "speed_over_dense", .of_speed = 1                   \
  }
#define PATTERNS(dim_)                                                                                             \
  PATTERN(dim_, "window512", BENCH_PATTERN_WINDOW_512), PATTERN(dim_, "window128", BENCH_PATTERN_WINDOW_128),      \
      PATTERN(dim_, "window512_global64", BENCH_PATTERN_WINDOW_GLOBAL),                                            \
      PATTERN(dim_, "longformer", BENCH_PATTERN_LONGFORMER), PATTERN(dim_, "chunks512", BENCH_PATTERN_CHUNKS_512), \
      PATTERN(dim_, "prefix1024", BENCH_PATTERN_PREFIX),                                                           \
      PATTERN(dim_, "documents512", BENCH_PATTERN_DOCUMENTS_512),                                                  \
      PATTERN(dim_, "documents128", BENCH_PATTERN_DOCUMENTS_128), PATTERN(dim_, "blocks64", BENCH_PATTERN_BLOCKS)

/* Over the same shape without the output. */
#define OUTPUT(name_, output_, heads_, length_, dim_, causal_)                                                     \
  {                                                                                                                \
    .shape = {.name = "paired/" name_, SIZES(heads_, length_, dim_), .causal = causal_, .output = output_},        \
    .plain = {.name = "plain", SIZES(heads_, length_, dim_), .causal = causal_}, .ratio = "time_over_plain"        \
  }

static const bench_pair pairs[] = {
    PATTERNS(64),
    PATTERNS(128),
    PATTERN(64, "grid13", BENCH_PATTERN_GRID),
    OUTPUT("h4_s4096_d64/causal_column_sums", BENCH_OUTPUT_COLUMN_SUMS, 4, 4096, 64, 1),
    OUTPUT("h4_s4096_d128/causal_column_sums", BENCH_OUTPUT_COLUMN_SUMS, 4, 4096, 128, 1),
    OUTPUT("h4_s4096_d64/causal_top64", BENCH_OUTPUT_TOP_KEYS, 4, 4096, 64, 1),
    OUTPUT("h4_s4096_d128/causal_top64", BENCH_OUTPUT_TOP_KEYS, 4, 4096, 128, 1),
    OUTPUT("h4_s4096_d64/causal_entropy", BENCH_OUTPUT_ENTROPY, 4, 4096, 64, 1),
    OUTPUT("h8_s1024_d64/weights", BENCH_OUTPUT_WEIGHTS, 8, 1024, 64, 0),
};

static const bench_graph_shape graphs[] = {
    {"graph/n16384_e8_d64", 16384, 8, 64},
    {"graph/n16384_e64_d64", 16384, 64, 64},
};

enum { pair_count = sizeof pairs / sizeof *pairs, graph_count = sizeof graphs / sizeof *graphs, most_threads = 2 };

/* One instruction set only: the tables here are filled once. */
void bench_register_patterns(const char *isa) {
  static bench_pair_case pair_cases[pair_count];
  static bench_graph_case graph_cases[graph_count * most_threads];
  char name[128];
  for (int i = 0; i < pair_count; i++) {
    pair_cases[i] = (bench_pair_case){&pairs[i], isa, 1};
    snprintf(name, sizeof name, "%s/%s/t1", pairs[i].shape.name, isa);
    bench_register(name, bench_paired, &pair_cases[i], BENCH_MILLISECONDS);
  }
  for (int i = 0; i < graph_count * most_threads; i++) {
    graph_cases[i] = (bench_graph_case){&graphs[i / most_threads], isa, 1 + i % most_threads};
    snprintf(name, sizeof name, "%s/edges/%s/t%d", graph_cases[i].shape->name, isa, graph_cases[i].threads);
    bench_register(name, bench_graph, &graph_cases[i], BENCH_MILLISECONDS);
  }
}
