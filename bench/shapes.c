/* Which benchmarks there are. Names are shape, rule, instruction set and threads. */
#include "cases.h"
#include "formats.h"
#include "layers.h"
#include "machine.h"
#include "modes.h"
#include "openblas.h"
#include "operations.h"
#include "patterns.h"
#include "runner.h"
#include "variants.h"

#include "arch/registry.h"

#include <stdio.h>
#include <string.h>

#define SIZES(batch_, heads_, kv_heads_, q_len_, kv_len_, dim_)                                                    \
  .batch = batch_, .heads = heads_, .kv_heads = kv_heads_, .q_len = q_len_, .kv_len = kv_len_, .dim = dim_

static const bench_shape shapes[] = {
    {.name = "prefill/h8_s2048_d128/full", SIZES(1, 8, 8, 2048, 2048, 128)},
    {.name = "prefill/h8_s2048_d128/causal", SIZES(1, 8, 8, 2048, 2048, 128), .causal = 1},
    {.name = "prefill/h8_s2048_d64/full", SIZES(1, 8, 8, 2048, 2048, 64)},
    {.name = "prefill/h8_s2048_d64/causal", SIZES(1, 8, 8, 2048, 2048, 64), .causal = 1},
    {.name = "prefill/h8_s2048_d80/full", SIZES(1, 8, 8, 2048, 2048, 80)},
    {.name = "prefill/h8_s2048_d96/full", SIZES(1, 8, 8, 2048, 2048, 96)},
    {.name = "prefill/h8_s2048_d256/full", SIZES(1, 8, 8, 2048, 2048, 256)},
    {.name = "prefill/h8_s512_d64/full", SIZES(1, 8, 8, 512, 512, 64)},
    {.name = "prefill/h8_s512_d64/causal", SIZES(1, 8, 8, 512, 512, 64), .causal = 1},
    {.name = "prefill/h8_s8192_d128/window512", SIZES(1, 8, 8, 8192, 8192, 128), .causal = 1, .window_left = 512},
    {.name = "prefill/h8_s8192_d64/chunk64_left256",
     SIZES(1, 8, 8, 8192, 8192, 64),
     .chunk_size = 64,
     .chunk_left = 256},
    /* Grouped heads, as in Llama 3 8B. */
    {.name = "prefill/h32_kv8_s4096_d128/causal", SIZES(1, 32, 8, 4096, 4096, 128), .causal = 1},
    /* ViT-B/16 at 224 pixels, and BERT-base. */
    {.name = "prefill/b8_h12_s197_d64/full", SIZES(8, 12, 12, 197, 197, 64)},
    {.name = "prefill/b16_h12_s384_d64/full", SIZES(16, 12, 12, 384, 384, 64)},
    /* As projections write it: a head's rows are 4 KB apart. */
    {.name = "prefill/h8_s2048_d128_rows_first/full", SIZES(1, 8, 8, 2048, 2048, 128), .rows_before_heads = 1},
    {.name = "cross/h8_q64_s2048_d64/full", SIZES(1, 8, 8, 64, 2048, 64)},
    {.name = "packed/b32_h8_s20to500_d64/full", SIZES(32, 8, 8, 0, 0, 64), .packed = 1},
    {.name = "decode/h32_kv8_s4096_d128/full", SIZES(1, 32, 8, 1, 4096, 128)},
    /* 256 MB of keys and values: more than a core's share of any cache. */
    {.name = "decode/h32_kv8_s32768_d128/full", SIZES(1, 32, 8, 1, 32768, 128)},
    {.name = "decode/h8_kv8_s32768_d128/full", SIZES(1, 8, 8, 1, 32768, 128)},
    {.name = "decode/h4_kv1_s131072_d128/full", SIZES(1, 4, 1, 1, 131072, 128)},
};

/* One row, as in a step of decoding, and a few rows, as in checks of drafts. With 16-bit types Q and O have the
 * type too, as PyTorch and vLLM keep them. All but the shorter shapes have 256 MB of keys and values or more. */
static const bench_shape decode_shapes[] = {
    {.name = "decode/h32_kv8_s32768_d128/full_panels", SIZES(1, 32, 8, 1, 32768, 128), .cache = BENCH_PANELS},
    {.name = "decode/h32_kv8_s65536_d128/full_f16", SIZES(1, 32, 8, 1, 65536, 128), .type = FOVEA_F16},
    {.name = "decode/h32_kv8_s65536_d128/full_bf16", SIZES(1, 32, 8, 1, 65536, 128), .type = FOVEA_BF16},
    {.name = "decode/h32_kv8_s65536_d128/full_f16_panels",
     SIZES(1, 32, 8, 1, 65536, 128),
     .type = FOVEA_F16,
     .cache = BENCH_PANELS},
    {.name = "decode/h32_kv8_s65536_d128/full_bf16_panels",
     SIZES(1, 32, 8, 1, 65536, 128),
     .type = FOVEA_BF16,
     .cache = BENCH_PANELS},
    {.name = "decode/h32_kv32_s32768_d128/full", SIZES(1, 32, 32, 1, 32768, 128)},
    {.name = "decode/h32_kv8_q4_s32768_d128/full", SIZES(1, 32, 8, 4, 32768, 128)},
    {.name = "decode/h32_kv8_q16_s32768_d128/full", SIZES(1, 32, 8, 16, 32768, 128)},
    /* 16 MB, which may stay in the last-level cache. */
    {.name = "decode/h32_kv8_s4096_d128/full_f16", SIZES(1, 32, 8, 1, 4096, 128), .type = FOVEA_F16},
    {.name = "decode/h32_kv8_s4096_d128/full_f16_panels",
     SIZES(1, 32, 8, 1, 4096, 128),
     .type = FOVEA_F16,
     .cache = BENCH_PANELS},
};

/* The shapes whose parts docs/benchmarks.md lists. */
static const bench_shape budget_shapes[] = {
    {.name = "budget/h8_s2048_d128/full", SIZES(1, 8, 8, 2048, 2048, 128)},
    {.name = "budget/h8_s2048_d64/causal", SIZES(1, 8, 8, 2048, 2048, 64), .causal = 1},
    {.name = "budget/b8_h12_s197_d64/full", SIZES(8, 12, 12, 197, 197, 64)},
    {.name = "budget/h32_kv8_s4096_d128/decode", SIZES(1, 32, 8, 1, 4096, 128)},
    {.name = "budget/h32_kv8_s32768_d128/decode", SIZES(1, 32, 8, 1, 32768, 128)},
};

static const bench_shape decode_speedup_shapes[] = {
    {.name = "speedup/h4_kv1_s131072_d128/decode", SIZES(1, 4, 1, 1, 131072, 128)},
};

static const bench_shape speedup_shapes[] = {
    {.name = "speedup/h8_s2048_d128/full", SIZES(1, 8, 8, 2048, 2048, 128)},
    {.name = "speedup/h8_s2048_d128/causal", SIZES(1, 8, 8, 2048, 2048, 128), .causal = 1},
    {.name = "speedup/h8_s2048_d64/full", SIZES(1, 8, 8, 2048, 2048, 64)},
    {.name = "speedup/h8_s2048_d64/causal", SIZES(1, 8, 8, 2048, 2048, 64), .causal = 1},
};

#define S2048(dim_) SIZES(1, 8, 8, 2048, 2048, dim_)

/* Half precision: all tensors in that type, over the same in f32. */
#define HALF(name_, type_, ...)                                                                                    \
  {                                                                                                                \
    .shape = {.name = "paired/" name_, __VA_ARGS__, .type = type_}, .plain = {.name = "f32", __VA_ARGS__},         \
    .ratio = "time_over_f32"                                                                                       \
  }
#define HALVES(type_name_, type_)                                                                                  \
  HALF("h8_s2048_d128/full_" type_name_, type_, S2048(128)),                                                       \
      HALF("h8_s2048_d128/causal_" type_name_, type_, S2048(128), .causal = 1),                                    \
      HALF("h8_s2048_d64/full_" type_name_, type_, S2048(64)),                                                     \
      HALF("h8_s2048_d64/causal_" type_name_, type_, S2048(64), .causal = 1)

/* A position term, over the same without. */
#define TERM(name_, term_, ...)                                                                                    \
  {                                                                                                                \
    .shape = {.name = "paired/" name_, __VA_ARGS__, .term = term_}, .plain = {.name = "plain", __VA_ARGS__},       \
    .ratio = "time_over_plain"                                                                                     \
  }

static const bench_pair pairs[] = {
    HALVES("f16", FOVEA_F16),
    HALVES("bf16", FOVEA_BF16),
    HALF("b16_h12_s384_d64/full_bf16", FOVEA_BF16, SIZES(16, 12, 12, 384, 384, 64)),
    {.shape = {.name = "paired/h8_s2048_d128/causal_softcap", S2048(128), .causal = 1, .softcap = 50.0},
     .plain = {.name = "causal", S2048(128), .causal = 1},
     .ratio = "time_over_plain"},
    {.shape = {.name = "paired/h8_s2048_d128/mask_f32", S2048(128), .mask = BENCH_MASK_ADDED},
     .plain = {.name = "full", S2048(128)},
     .ratio = "time_over_plain"},
    {.shape = {.name = "paired/h8_s2048_d128/mask_bool", S2048(128), .mask = BENCH_MASK_ALL},
     .plain = {.name = "full", S2048(128)},
     .ratio = "time_over_plain"},
    {.shape = {.name = "paired/h8_s2048_d128/mask_half_empty", S2048(128), .mask = BENCH_MASK_HALF_TILES},
     .plain = {.name = "mask_bool", S2048(128), .mask = BENCH_MASK_ALL},
     .ratio = "time_over_full_mask"},
    TERM("h8_s4096_d128/causal_alibi", FOVEA_POSITION_ALIBI, SIZES(1, 8, 8, 4096, 4096, 128), .causal = 1),
    TERM("h8_s4096_d128/causal_t5", FOVEA_POSITION_T5, SIZES(1, 8, 8, 4096, 4096, 128), .causal = 1),
    TERM("h8_s4096_d128/causal_relative", FOVEA_POSITION_RELATIVE, SIZES(1, 8, 8, 4096, 4096, 128), .causal = 1),
    TERM("b64_h4_s49_d128/full_swin", FOVEA_POSITION_GRID, SIZES(64, 4, 4, 49, 49, 128)),
    {.shape =
         {.name = "paired/h8_s4096_d128/causal_shaw", SIZES(1, 8, 8, 4096, 4096, 128), .causal = 1, .shaw = 16},
     .plain = {.name = "causal", SIZES(1, 8, 8, 4096, 4096, 128), .causal = 1},
     .ratio = "time_over_plain"},
};

/* Pages of one row, pages of 16 and contiguous memory in the same rounds. */
#define PAGES_OF_ONE(name_, gap_, ...)                                                                             \
  {                                                                                                                \
    .shape = {.name = "paired/" name_, __VA_ARGS__, .cache = BENCH_PAGES, .page_rows = 1, .page_gap = gap_},       \
    .plain = {.name = "contiguous", __VA_ARGS__}, .ratio = "time_over_contiguous",                                 \
    .beside = {.name = "pages16", __VA_ARGS__, .cache = BENCH_PAGES, .page_gap = gap_},                            \
    .beside_ratio = "pages16_over_contiguous"                                                                      \
  }

static const bench_pair decode_pairs[] = {
    {.shape = {.name = "paired/h32_kv8_s32768_d128/decode_pages16",
               SIZES(1, 32, 8, 1, 32768, 128),
               .cache = BENCH_PAGES},
     .plain = {.name = "contiguous", SIZES(1, 32, 8, 1, 32768, 128)},
     .ratio = "time_over_contiguous"},
    {.shape = {.name = "paired/h32_kv8_s65536_d128/decode_pages16_f16",
               SIZES(1, 32, 8, 1, 65536, 128),
               .type = FOVEA_F16,
               .cache = BENCH_PAGES},
     .plain = {.name = "contiguous", SIZES(1, 32, 8, 1, 65536, 128), .type = FOVEA_F16},
     .ratio = "time_over_contiguous"},
    PAGES_OF_ONE("h32_kv8_s32768_d128/decode_pages1", 0, SIZES(1, 32, 8, 1, 32768, 128)),
    PAGES_OF_ONE("h32_kv8_s32768_d128/decode_pages1_gap", 16, SIZES(1, 32, 8, 1, 32768, 128)),
    PAGES_OF_ONE("h32_kv8_s1024_d128/decode_pages1", 0, SIZES(1, 32, 8, 1, 1024, 128)),
    PAGES_OF_ONE("h32_kv8_s1024_d128/decode_pages1_gap", 16, SIZES(1, 32, 8, 1, 1024, 128)),
    PAGES_OF_ONE("h8_kv8_s1024_d64/decode_pages1_gap", 16, SIZES(1, 8, 8, 1, 1024, 64)),
};

#define NAME(name, architecture, needs, prefers, type, lacks)                                                      \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture(#name, ))
static const char *const isas[] = {FOVEA_INSTRUCTION_SETS(NAME)};

enum {
  shape_count = sizeof shapes / sizeof *shapes,
  speedup_count = sizeof speedup_shapes / sizeof *speedup_shapes,
  pair_count = sizeof pairs / sizeof *pairs,
  budget_count = sizeof budget_shapes / sizeof *budget_shapes,
  decode_count = sizeof decode_shapes / sizeof *decode_shapes,
  decode_speedup_count = sizeof decode_speedup_shapes / sizeof *decode_speedup_shapes,
  decode_pair_count = sizeof decode_pairs / sizeof *decode_pairs,
  isa_count = sizeof isas / sizeof *isas - 1, /* portable C, the last, is left out */
  most_threads = 2,
  case_count = ((shape_count + decode_count) * most_threads + speedup_count + decode_speedup_count + budget_count) *
               isa_count,
  pair_case_count = (pair_count + decode_pair_count) * isa_count
};

static void register_case(const bench_shape *shape, const char *isa, int threads, bench_function function) {
  static bench_case cases[case_count];
  static int used;
  bench_case *added = &cases[used++];
  *added = (bench_case){shape, isa, threads};
  char name[128];
  snprintf(name, sizeof name, "%s/%s/t%d", shape->name, isa, threads);
  bench_register(name, function, added, BENCH_MILLISECONDS);
}

static void register_pair(const bench_pair *pair, const char *isa) {
  static bench_pair_case cases[pair_case_count];
  static int used;
  bench_pair_case *added = &cases[used++];
  *added = (bench_pair_case){pair, isa, 1};
  char name[128];
  snprintf(name, sizeof name, "%s/%s/t1", pair->shape.name, isa);
  bench_register(name, bench_paired, added, BENCH_MILLISECONDS);
}

static void report_context(void) {
  bench_context("clock", machine_counts_cpu_time() ? "CPU time of one thread" : "wall");
  char ratio[16];
  snprintf(ratio, sizeof ratio, "%.2f", machine_bf16_over_fma());
  bench_context("bf16_dot_over_fma", ratio);
  fovea_library_info info;
  fovea_library_info_init(&info);
  if (fovea_info(&info) != FOVEA_OK) return;
  bench_context("cpu", info.cpu);
  bench_context("fovea_version", info.version);
  bench_context("fovea_isa", info.isa);
  bench_context("fovea_threading", info.threading);
  bench_context("fovea_environment", info.environment);
}

/* Only on the instruction set that Fovea chooses: the plain shapes measure the others. */
static void register_decode(int threads) {
  for (int isa = 0; isa < isa_count; isa++)
    for (int i = 0; i < decode_count && bench_isa_is_chosen(isas[isa]); i++)
      register_case(&decode_shapes[i], isas[isa], threads, bench_decode);
}

static void register_decode_comparisons(void) {
  for (int isa = 0; isa < isa_count; isa++) {
    if (!bench_isa_is_chosen(isas[isa])) continue;
    for (int i = 0; i < decode_pair_count; i++) register_pair(&decode_pairs[i], isas[isa]);
    for (int i = 0; i < decode_speedup_count; i++)
      register_case(&decode_speedup_shapes[i], isas[isa], most_threads, bench_speedup);
  }
}

/* AMX and products of pairs share the tiles of one set, which comes beside them. */
static void register_modes(void) {
  for (int isa = 0; isa < isa_count; isa++) {
    const int shared = strcmp(isas[isa], BENCH_AMX_SHARE) == 0;
    if (shared) bench_register_modes(BENCH_AMX);
    if (shared && machine_bf16_over_fma() >= BENCH_PAIRS_FAST) bench_register_modes(BENCH_PAIRS);
    bench_register_modes(isas[isa]);
  }
  bench_register_int8();
}

void bench_register_all(void) {
  report_context();
  openblas_report();
  for (int threads = 1; threads <= most_threads; threads++) {
    for (int isa = 0; isa < isa_count; isa++)
      for (int i = 0; i < shape_count; i++) register_case(&shapes[i], isas[isa], threads, bench_prefill);
    register_decode(threads);
  }
  for (int isa = 0; isa < isa_count; isa++)
    for (int i = 0; i < pair_count; i++) register_pair(&pairs[i], isas[isa]);
  for (int isa = 0; isa < isa_count; isa++)
    for (int i = 0; i < speedup_count; i++)
      register_case(&speedup_shapes[i], isas[isa], most_threads, bench_speedup);
  register_decode_comparisons();
  register_modes();
  for (int isa = 0; isa < isa_count; isa++)
    for (int i = 0; i < budget_count; i++) register_case(&budget_shapes[i], isas[isa], 1, bench_budget);
  bench_register("overhead/h1_q1_s16_d64/plain_call", bench_call_plain, NULL, BENCH_NANOSECONDS);
  bench_register("overhead/h1_q1_s16_d64/plan_and_run", bench_call_plan_and_run, NULL, BENCH_NANOSECONDS);
  bench_register("overhead/h1_q1_s16_d64/run", bench_call_run, NULL, BENCH_NANOSECONDS);
  bench_register("plan/s1000000/window512_global64", bench_plan_long, NULL, BENCH_MILLISECONDS);
  bench_register_operations();
  for (int isa = 0; isa < isa_count; isa++)
    if (bench_isa_is_chosen(isas[isa])) bench_register_patterns(isas[isa]), bench_register_formats(isas[isa]);
#ifdef BENCH_LAYERS
  for (int isa = 0; isa < isa_count; isa++)
    if (bench_isa_is_chosen(isas[isa])) bench_register_layers(isas[isa]), bench_register_variants(isas[isa]);
  bench_register_variant_errors();
#endif
}
