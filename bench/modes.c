#include "modes.h"

#include "cases.h"

#include <stdio.h>
#include <string.h>

#define SIZES(batch_, heads_, kv_heads_, q_len_, kv_len_, dim_)                                                    \
  .batch = batch_, .heads = heads_, .kv_heads = kv_heads_, .q_len = q_len_, .kv_len = kv_len_, .dim = dim_
#define BF16 FOVEA_MODE_BF16

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
    MODE("h8_s2048_d128/full_bf16_scores", BF16, FOVEA_MODE_EXACT, SIZES(1, 8, 8, 2048, 2048, 128)),
    MODE("h8_s2048_d128/full_bf16_values", FOVEA_MODE_EXACT, BF16, SIZES(1, 8, 8, 2048, 2048, 128)),
};

enum { pair_count = sizeof pairs / sizeof *pairs, most_threads = 2, most_sets = 8 };

const char *bench_vectors_of(const char *isa) {
  return strcmp(isa, BENCH_AMX) == 0 ? BENCH_AMX_SHARE : isa;
}

void bench_register_modes(const char *isa) {
  static bench_pair_case cases[most_sets * most_threads * pair_count];
  static int used;
  char name[128];
  for (int threads = 1; threads <= most_threads; threads++)
    for (int i = 0; i < pair_count && used < (int)(sizeof cases / sizeof *cases); i++) {
      bench_pair_case *added = &cases[used++];
      *added = (bench_pair_case){&pairs[i], isa, threads};
      snprintf(name, sizeof name, "%s/%s/t%d", pairs[i].shape.name, isa, threads);
      bench_register(name, bench_paired, added, BENCH_MILLISECONDS);
    }
}
