#include "formats.h"

#include "cases.h"
#include "machine.h"
#include "rates.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

#define SIZES(heads_, kv_heads_, q_len_, kv_len_)                                                                  \
  .batch = 1, .heads = heads_, .kv_heads = kv_heads_, .q_len = q_len_, .kv_len = kv_len_, .dim = 128

/* ---- Decoding: a quantised cache, f32 and f16 ---------------------------------------------------------------- */

#define SHAPE(size_, name_, cache_, format_, ...)                                                                  \
  { .name = "format/" size_ "/" name_, __VA_ARGS__, .cache = cache_, .format = format_ }
/* Panels take formats whose scales lie apart. */
#define FORMATS(size_, ...)                                                                                        \
  {                                                                                                                \
    SHAPE(size_, "i8_rows", BENCH_CONTIGUOUS, "i8_rows", __VA_ARGS__),                                             \
        SHAPE(size_, "i8_rows_panels", BENCH_PANELS, "i8_rows", __VA_ARGS__),                                      \
        SHAPE(size_, "q8_0", BENCH_CONTIGUOUS, "q8_0", __VA_ARGS__),                                               \
        SHAPE(size_, "e4m3", BENCH_CONTIGUOUS, "e4m3", __VA_ARGS__),                                               \
        SHAPE(size_, "e4m3_panels", BENCH_PANELS, "e4m3", __VA_ARGS__),                                            \
        SHAPE(size_, "q4_0", BENCH_CONTIGUOUS, "q4_0", __VA_ARGS__),                                               \
        SHAPE(size_, "ort_u4", BENCH_CONTIGUOUS, "ort_u4", __VA_ARGS__),                                           \
        SHAPE(size_, "ort_u4_panels", BENCH_PANELS, "ort_u4", __VA_ARGS__),                                        \
  }

enum { format_count = 8, most_threads = 2 };

/* Four and eight query heads share a kv head. 32,768 keys take 256 MB in f32, 64 MB in 8 bits. */
static const struct {
  bench_shape f32, f16, formats[format_count];
} groups[] = {
    {{.name = "f32", SIZES(32, 8, 1, 32768)},
     {.name = "f16", SIZES(32, 8, 1, 32768), .type = FOVEA_F16},
     FORMATS("h32_kv8_s32768_d128", SIZES(32, 8, 1, 32768))},
    {{.name = "f32", SIZES(32, 8, 1, 4096)},
     {.name = "f16", SIZES(32, 8, 1, 4096), .type = FOVEA_F16},
     FORMATS("h32_kv8_s4096_d128", SIZES(32, 8, 1, 4096))},
    {{.name = "f32", SIZES(64, 8, 1, 32768)},
     {.name = "f16", SIZES(64, 8, 1, 32768), .type = FOVEA_F16},
     FORMATS("h64_kv8_s32768_d128", SIZES(64, 8, 1, 32768))},
};

/* A runner that is kept while benchmarks of its shape and threads follow each other. */
typedef struct kept_runner {
  bench_case of;
  bench_runner runner;
} kept_runner;

static const char *keep(kept_runner *kept, const bench_shape *shape, const bench_format_case *wanted) {
  if (kept->of.shape == shape && kept->of.threads == wanted->threads) return kept->runner.refusal;
  bench_runner_destroy(&kept->runner);
  kept->of = (bench_case){shape, wanted->isa, wanted->threads};
  bench_runner_create(&kept->runner, &kept->of);
  if (!kept->runner.refusal[0]) bench_time_fovea(&kept->runner, wanted->threads);
  return kept->runner.refusal;
}

/* After another cache was read; the first run brings this one back where it fits. */
static double time_again(bench_runner *runner, int threads) {
  bench_run_fovea(runner, threads);
  return bench_time_fovea(runner, threads);
}

void bench_decode_format(bench_round *round, const void *argument) {
  static kept_runner narrow, f32, f16;
  const bench_format_case *wanted = argument;
  const char *refusal = keep(&narrow, wanted->shape, wanted);
  if (!refusal[0]) refusal = keep(&f32, wanted->f32, wanted);
  if (!refusal[0]) refusal = keep(&f16, wanted->f16, wanted);
  if (refusal[0]) {
    bench_skip(round, refusal);
    return;
  }
  const bench_workload *workload = &narrow.runner.workload;
  const int threads = wanted->threads;
  const double peak = machine_fma_peak(wanted->isa, threads, BENCH_PEAK_SLICE);
  const double memory_rate = bench_read_rate(&f32.runner.workload, threads, BENCH_SLICE);
  const double wide = time_again(&f32.runner, threads);
  const double rate_before = bench_read_rate(workload, threads, BENCH_SLICE);
  const double seconds = time_again(&narrow.runner, threads);
  const double rate_after = bench_read_rate(workload, threads, BENCH_SLICE);
  const double half = time_again(&f16.runner, threads);
  bench_seconds(round, seconds);
  bench_report_flops(round, workload, seconds, peak);
  bench_report_reading(round, workload, seconds, 0.5 * (rate_before + rate_after), peak);
  if (memory_rate > 0.0)
    bench_counter(round, "f32_bandwidth_fraction", (double)workload->kv_bytes / seconds / memory_rate);
  bench_counter(round, "tokens_per_second", 1.0 / seconds);
  bench_counter(round, "tokens_over_f32", wide / seconds);
  bench_counter(round, "tokens_over_f16", half / seconds);
}

/* ---- Pages and prefill: pairs -------------------------------------------------------------------------------- */

#define PAGES(format_)                                                                                             \
  {                                                                                                                \
    .shape = {.name = "paired/h32_kv8_s32768_d128/decode_pages16_" format_,                                        \
              SIZES(32, 8, 1, 32768),                                                                              \
              .cache = BENCH_PAGES,                                                                                \
              .format = format_},                                                                                  \
    .plain = {.name = "contiguous", SIZES(32, 8, 1, 32768), .format = format_}, .ratio = "time_over_contiguous"    \
  }

#define PREFILL(rule_, causal_, format_)                                                                           \
  {                                                                                                                \
    .shape = {.name = "paired/h8_s2048_d128/" rule_ "_" format_,                                                   \
              SIZES(8, 8, 2048, 2048),                                                                             \
              .causal = causal_,                                                                                   \
              .format = format_},                                                                                  \
    .plain = {.name = "f32", SIZES(8, 8, 2048, 2048), .causal = causal_}, .ratio = "speed_over_f32", .of_speed = 1 \
  }

static const bench_pair pairs[] = {
    PAGES("i8_rows"),
    PAGES("q8_0"),
    PREFILL("full", 0, "i8_rows"),
    PREFILL("full", 0, "q8_0"),
    PREFILL("full", 0, "e4m3"),
    PREFILL("full", 0, "q4_0"),
    PREFILL("full", 0, "ort_u4"),
    PREFILL("causal", 1, "i8_rows"),
    PREFILL("causal", 1, "q8_0"),
};

/* ---- Names --------------------------------------------------------------------------------------------------- */

static const struct {
  const char *format, *name;
  int has_tables;
} appended[] = {
    {"f32", "f32", 0},          {"f32", "f32_tables", 1}, {"i8_rows", "i8_rows", 0}, {"q8_0", "q8_0", 0},
    {"q8_0", "q8_0_tables", 1}, {"e4m3", "e4m3", 0},      {"q4_0", "q4_0", 0},
};

enum {
  group_count = sizeof groups / sizeof *groups,
  pair_count = sizeof pairs / sizeof *pairs,
  append_count = sizeof appended / sizeof *appended
};

static void register_pairs(const char *isa) {
  static bench_pair_case cases[pair_count];
  char name[128];
  for (int i = 0; i < pair_count; i++) {
    cases[i] = (bench_pair_case){&pairs[i], isa, 1};
    snprintf(name, sizeof name, "%s/%s/t1", pairs[i].shape.name, isa);
    bench_register(name, bench_paired, &cases[i], BENCH_MILLISECONDS);
  }
}

static void register_appends(const char *isa) {
  static bench_append_case cases[append_count * most_threads];
  char name[128];
  for (int i = 0; i < append_count * most_threads; i++) {
    const int at = i % append_count;
    cases[i] = (bench_append_case){appended[at].format, isa, appended[at].has_tables, 1 + i / append_count};
    snprintf(name, sizeof name, "append/kv8_r512_d128/%s/%s/t%d", appended[at].name, isa, cases[i].threads);
    bench_register(name, bench_append, &cases[i], BENCH_MILLISECONDS);
  }
}

void bench_register_formats(const char *isa) {
  static bench_format_case cases[group_count][most_threads][format_count];
  char name[128];
  for (int group = 0; group < group_count; group++)
    for (int threads = 1; threads <= most_threads; threads++)
      for (int i = 0; i < format_count; i++) {
        const bench_shape *shape = &groups[group].formats[i];
        bench_format_case *added = &cases[group][threads - 1][i];
        *added = (bench_format_case){shape, &groups[group].f32, &groups[group].f16, isa, threads};
        snprintf(name, sizeof name, "%s/%s/t%d", shape->name, isa, threads);
        bench_register(name, bench_decode_format, added, BENCH_MILLISECONDS);
      }
  register_pairs(isa);
  register_appends(isa);
}
