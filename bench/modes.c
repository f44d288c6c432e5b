#include "modes.h"

#include "../arch/kernels.h"
#include "../arch/registry.h"

#include <stdio.h>
#include <string.h>

#define SIZES(batch_, heads_, kv_heads_, q_len_, kv_len_, dim_)                                                    \
  .batch = batch_, .heads = heads_, .kv_heads = kv_heads_, .q_len = q_len_, .kv_len = kv_len_, .dim = dim_
#define BF16  FOVEA_MODE_BF16
#define INT8  FOVEA_MODE_INT8
#define EXACT FOVEA_MODE_EXACT

/* Modes of scores and values, over exact mode on the same tensors. */
#define MODE(name_, scores_, values_, ...)                                                                         \
  {                                                                                                                \
    .shape = {.name = "mode/" name_, __VA_ARGS__, .scores = scores_, .values = values_},                           \
    .plain = {.name = "exact", __VA_ARGS__}, .ratio = "speed_over_exact", .of_speed = 1                            \
  }
/* Tensors in f32, which are rounded, and in bf16. */
#define TYPES(name_, ...)                                                                                          \
  MODE(name_ "_bf16", BF16, BF16, __VA_ARGS__),                                                                    \
      MODE(name_ "_bf16_of_bf16", BF16, BF16, __VA_ARGS__, .type = FOVEA_BF16)

static const bench_pair pairs[] = {
    TYPES("h8_s2048_d128/full", SIZES(1, 8, 8, 2048, 2048, 128)),
    TYPES("h8_s2048_d128/causal", SIZES(1, 8, 8, 2048, 2048, 128), .causal = 1),
    TYPES("h8_s2048_d64/full", SIZES(1, 8, 8, 2048, 2048, 64)),
    TYPES("h8_s2048_d64/causal", SIZES(1, 8, 8, 2048, 2048, 64), .causal = 1),
    TYPES("b16_h12_s384_d64/full", SIZES(16, 12, 12, 384, 384, 64)),
    TYPES("b8_h12_s197_d64/full", SIZES(8, 12, 12, 197, 197, 64)),
    TYPES("h8_s8192_d128/window512", SIZES(1, 8, 8, 8192, 8192, 128), .causal = 1, .window_left = 512),
    TYPES("h8_q64_s2048_d64/full", SIZES(1, 8, 8, 64, 2048, 64)),
    TYPES("h8_q64_s32768_d128/full", SIZES(1, 8, 8, 64, 32768, 128)),
    /* Decoding: four and eight query heads share a kv head, from a last-level cache and from memory. */
    TYPES("h32_kv8_s4096_d128/decode", SIZES(1, 32, 8, 1, 4096, 128)),
    TYPES("h64_kv8_s4096_d128/decode", SIZES(1, 64, 8, 1, 4096, 128)),
    TYPES("h32_kv8_s32768_d128/decode", SIZES(1, 32, 8, 1, 32768, 128)),
    TYPES("h64_kv8_s32768_d128/decode", SIZES(1, 64, 8, 1, 32768, 128)),
    /* One half. */
    MODE("h8_s2048_d128/full_bf16_scores", BF16, EXACT, SIZES(1, 8, 8, 2048, 2048, 128)),
    MODE("h8_s2048_d128/full_bf16_values", EXACT, BF16, SIZES(1, 8, 8, 2048, 2048, 128)),
};

/* int8 over bf16 mode, by the same instructions. */
#define OVER_BF16(name_, ...)                                                                                      \
  {                                                                                                                \
    .shape = {.name = "mode/" name_ "_int8_over_bf16", __VA_ARGS__, .scores = INT8, .values = INT8},               \
    .plain = {.name = "bf16", __VA_ARGS__, .scores = BF16, .values = BF16}, .ratio = "speed_over_bf16",            \
    .of_speed = 1                                                                                                  \
  }
/* Codes of 8 bits with a scale for each row, used as they lie by int8 mode, dequantised by exact mode. */
#define CODED .format = "i8_rows"

static const bench_pair int8_pairs[] = {
    MODE("h8_s2048_d128/full_int8", INT8, INT8, SIZES(1, 8, 8, 2048, 2048, 128)),
    MODE("h8_s2048_d128/causal_int8", INT8, INT8, SIZES(1, 8, 8, 2048, 2048, 128), .causal = 1),
    MODE("h8_s2048_d64/full_int8", INT8, INT8, SIZES(1, 8, 8, 2048, 2048, 64)),
    MODE("h8_s2048_d64/causal_int8", INT8, INT8, SIZES(1, 8, 8, 2048, 2048, 64), .causal = 1),
    MODE("b16_h12_s384_d64/full_int8", INT8, INT8, SIZES(16, 12, 12, 384, 384, 64)),
    MODE("b8_h12_s197_d64/full_int8", INT8, INT8, SIZES(8, 12, 12, 197, 197, 64)),
    MODE("h8_s8192_d128/window512_int8", INT8, INT8, SIZES(1, 8, 8, 8192, 8192, 128), .causal = 1,
         .window_left = 512),
    MODE("h8_q64_s2048_d64/full_int8", INT8, INT8, SIZES(1, 8, 8, 64, 2048, 64)),
    MODE("h8_q64_s32768_d128/full_int8", INT8, INT8, SIZES(1, 8, 8, 64, 32768, 128)),
    MODE("h32_kv8_s4096_d128/decode_int8_of_i8", INT8, INT8, SIZES(1, 32, 8, 1, 4096, 128), CODED),
    MODE("h64_kv8_s4096_d128/decode_int8_of_i8", INT8, INT8, SIZES(1, 64, 8, 1, 4096, 128), CODED),
    MODE("h32_kv8_s4096_d128/decode_int8_of_i8_panels", INT8, INT8, SIZES(1, 32, 8, 1, 4096, 128), CODED,
         .cache = BENCH_PANELS),
    MODE("h64_kv8_s4096_d128/decode_int8_of_i8_panels", INT8, INT8, SIZES(1, 64, 8, 1, 4096, 128), CODED,
         .cache = BENCH_PANELS),
    MODE("h32_kv8_s32768_d128/decode_int8_of_i8", INT8, INT8, SIZES(1, 32, 8, 1, 32768, 128), CODED),
    MODE("h64_kv8_s32768_d128/decode_int8_of_i8", INT8, INT8, SIZES(1, 64, 8, 1, 32768, 128), CODED),
    MODE("h8_s2048_d128/full_int8_of_i8", INT8, INT8, SIZES(1, 8, 8, 2048, 2048, 128), CODED),
    MODE("h8_s2048_d128/full_int8_of_bf16", INT8, INT8, SIZES(1, 8, 8, 2048, 2048, 128), .type = FOVEA_BF16),
    MODE("h8_s2048_d128/full_int8_scores", INT8, EXACT, SIZES(1, 8, 8, 2048, 2048, 128)),
    MODE("h8_s2048_d128/full_int8_values", EXACT, INT8, SIZES(1, 8, 8, 2048, 2048, 128)),
    MODE("h8_s2048_d128/full_int8_scores_bf16_values", INT8, BF16, SIZES(1, 8, 8, 2048, 2048, 128)),
};

/* Only by AMX, which bf16 mode is made for. */
static const bench_pair amx_pairs[] = {
    OVER_BF16("h8_s2048_d128/full", SIZES(1, 8, 8, 2048, 2048, 128)),
    OVER_BF16("h8_s2048_d128/causal", SIZES(1, 8, 8, 2048, 2048, 128), .causal = 1),
};

#define TABLE(set, architecture, tiles, symbol, needs, prefers)                                                    \
  FOVEA_FOR_##architecture({#set "/" #tiles, #set, &fovea_kernels_##symbol}, )
static const struct {
  const char *isa, *set;
  const fovea_kernels *kernels;
} tables[] = {{BENCH_AMX, BENCH_AMX_SHARE, NULL}, FOVEA_TILE_TABLES(TABLE)};

enum {
  pair_count = sizeof pairs / sizeof *pairs,
  int8_count = sizeof int8_pairs / sizeof *int8_pairs,
  amx_count = sizeof amx_pairs / sizeof *amx_pairs,
  table_count = sizeof tables / sizeof *tables,
  most_threads = 2,
  most_sets = 8
};

const char *bench_vectors_of(const char *isa) {
  if (strcmp(isa, BENCH_PAIRS) == 0) return BENCH_AMX_SHARE;
  for (int i = 0; i < table_count; i++)
    if (strcmp(tables[i].isa, isa) == 0) return tables[i].set;
  return isa;
}

const char *bench_plain_isa(const bench_pair_case *wanted) {
  const bench_shape *plain = &wanted->pair->plain;
  return plain->scores == EXACT && plain->values == EXACT ? bench_vectors_of(wanted->isa) : wanted->isa;
}

/* The parts of a name are joined by '/', so a table's part has a dot: avx512.vnni. */
static void add(bench_pair_case *added, const bench_pair *pair, const char *isa, int threads) {
  char name[128], word[32];
  snprintf(word, sizeof word, "%s", isa);
  char *cut = strchr(word, '/');
  if (cut) *cut = '.';
  *added = (bench_pair_case){pair, isa, threads};
  snprintf(name, sizeof name, "%s/%s/t%d", pair->shape.name, word, threads);
  bench_register(name, bench_paired, added, BENCH_MILLISECONDS);
}

void bench_register_modes(const char *isa) {
  static bench_pair_case cases[most_sets * most_threads * pair_count];
  static int used;
  for (int threads = 1; threads <= most_threads; threads++)
    for (int i = 0; i < pair_count && used < (int)(sizeof cases / sizeof *cases); i++)
      add(&cases[used++], &pairs[i], isa, threads);
}

/* Whether a table before it has the same arithmetic. */
static int is_repeated(int table) {
  for (int i = 0; i < table; i++)
    if (tables[i].kernels && tables[i].kernels->int8 == tables[table].kernels->int8) return 1;
  return 0;
}

void bench_register_int8(void) {
  static bench_pair_case cases[most_threads * (table_count * int8_count + amx_count)];
  int used = 0;
  for (int threads = 1; threads <= most_threads; threads++)
    for (int i = 0; i < amx_count; i++) add(&cases[used++], &amx_pairs[i], BENCH_AMX, threads);
  for (int table = 0; table < table_count; table++)
    for (int threads = 1; threads <= most_threads && !is_repeated(table); threads++)
      for (int i = 0; i < int8_count; i++) add(&cases[used++], &int8_pairs[i], tables[table].isa, threads);
}
