#include "variants.h"

#include "machine.h"
#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const variant variant_exact, variant_exact_causal, variant_window;

const variant *const variant_list[] = {&variant_exact, &variant_exact_causal, &variant_window, NULL};

enum { HEADS = 1, DIM = 64, LENGTHS = 10, SHORTEST = 128, MOST_THREADS = 2, NUMBERS = 16, CASES = 1024 };
/* Exact attention over more keys is measured alone, since it takes seconds. */
enum { COMPARED = 16384 };

typedef struct variant_case {
  const variant *variant;
  int64_t length;
  int threads;
} variant_case;

/* What a call holds beside what callers see. */
typedef struct whole_call {
  variant_call call;
  float *numbers[NUMBERS];
  int count;
} whole_call;

static float *draw(size_t count, uint32_t seed, float scale) {
  float *numbers = bench_allocate(count * sizeof *numbers);
  uint32_t state = seed;
  for (size_t i = 0; numbers && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * scale;
  }
  return numbers;
}

float *variant_numbers(variant_call *call, size_t count, uint32_t seed, float scale) {
  whole_call *whole = (whole_call *)call;
  float *numbers = whole->count < NUMBERS ? draw(count, seed, scale) : NULL;
  if (!numbers) return NULL;
  call->bytes += count * sizeof *numbers;
  return whole->numbers[whole->count++] = numbers;
}

int variant_scratch(variant_call *call, size_t bytes) {
  call->execution.scratch = bench_allocate(bytes + (bytes == 0));
  call->execution.scratch_size = bytes;
  call->bytes += bytes;
  return call->execution.scratch != NULL;
}

static variant_call *begin(const variant *wanted, int64_t heads, int64_t length, int64_t dim, int threads) {
  whole_call *whole = calloc(1, sizeof *whole);
  if (!whole) return NULL;
  whole->call = (variant_call){.variant = wanted, .heads = heads, .length = length, .dim = dim, .threads = threads};
  fovea_execution_init(&whole->call.execution);
  whole->call.execution.threads = threads;
  if (wanted->begin(&whole->call)) return &whole->call;
  variant_end(&whole->call);
  return NULL;
}

variant_call *variant_begin(const char *name, int64_t heads, int64_t length, int64_t dim, int threads) {
  for (int i = 0; variant_list[i]; i++) {
    if (strcmp(variant_list[i]->name, name) == 0) return begin(variant_list[i], heads, length, dim, threads);
  }
  return NULL;
}

fovea_status variant_run(variant_call *call, const float *q, const float *k, const float *v, float *o) {
  call->q = q, call->k = k, call->v = v, call->o = o;
  return call->variant->run(call);
}

void variant_end(variant_call *call) {
  whole_call *whole = (whole_call *)call;
  if (!call) return;
  call->variant->end(call);
  free(call->execution.scratch);
  for (int i = 0; i < whole->count; i++) free(whole->numbers[i]);
  free(whole);
}

/* ---- Benchmarks ------------------------------------------------------------------------------------------------
 */

static struct {
  const variant_case *of;
  variant_call *call, *exact;
  float *q, *k, *v, *o;
  double error; /* of an approximate variant */
} current;

static void release(void) {
  variant_end(current.call);
  variant_end(current.exact);
  free(current.q), free(current.k), free(current.v), free(current.o);
  memset(&current, 0, sizeof current);
}

/* |variant - exact| / |exact|, both as one long vector; o holds the exact outputs. */
static double error_of(size_t count) {
  double difference = 0, size = 0;
  float *o = draw(count, 5, 1);
  if (!o) return 0;
  variant_run(current.call, current.q, current.k, current.v, o);
  for (size_t i = 0; i < count; i++) {
    const double exact = (double)current.o[i], distance = (double)o[i] - exact;
    difference += distance * distance;
    size += exact * exact;
  }
  free(o);
  return sqrt(difference / size);
}

static int prepare(const variant_case *wanted) {
  const size_t count = (size_t)HEADS * (size_t)wanted->length * DIM;
  const variant *exact = wanted->variant->causal ? &variant_exact_causal : &variant_exact;
  if (current.of == wanted) return 1;
  release();
  current.q = draw(count, 1, 1), current.k = draw(count, 2, 1);
  current.v = draw(count, 3, 1), current.o = draw(count, 4, 1);
  if (!current.q || !current.k || !current.v || !current.o) return 0;
  current.call = begin(wanted->variant, HEADS, wanted->length, DIM, wanted->threads);
  if (!current.call) return 0;
  if (wanted->variant != exact && wanted->length <= COMPARED) {
    current.exact = begin(exact, HEADS, wanted->length, DIM, wanted->threads);
    if (!current.exact || variant_run(current.exact, current.q, current.k, current.v, current.o)) return 0;
  }
  if (current.exact && wanted->variant->approximate) current.error = error_of(count);
  current.of = wanted;
  return variant_run(current.call, current.q, current.k, current.v, current.o) == FOVEA_OK;
}

static double time_of(variant_call *call) {
  int runs = 0;
  const double start = machine_now();
  double seconds = 0.0;
  for (; seconds < BENCH_SLICE; seconds = machine_now() - start, runs++) {
    variant_run(call, current.q, current.k, current.v, current.o);
  }
  return seconds / runs;
}

static void bench_variant(bench_round *round, const void *argument) {
  const variant_case *wanted = argument;
  if (wanted->threads > machine_threads() || !prepare(wanted)) {
    bench_skip(round, "not enough memory or threads, or the library refuses");
    return;
  }
  const double before = current.exact ? time_of(current.exact) : 0, seconds = time_of(current.call);
  bench_seconds(round, seconds);
  bench_counter(round, "bytes", (double)current.call->bytes);
  if (current.exact && wanted->variant->approximate) bench_counter(round, "error", current.error);
  if (current.exact) bench_counter(round, "exact_over_variant", 0.5 * (before + time_of(current.exact)) / seconds);
}

void bench_register_variants(const char *isa) {
  static variant_case cases[CASES];
  int used = 0;
  for (int threads = 1; threads <= MOST_THREADS; threads++) {
    for (int i = 0; variant_list[i]; i++) {
      for (int j = 0; j < LENGTHS && used < CASES; j++) {
        char name[128];
        cases[used] = (variant_case){variant_list[i], (int64_t)SHORTEST << j, threads};
        snprintf(name, sizeof name, "variant/s%lld/%s/%s/t%d", (long long)cases[used].length, variant_list[i]->name,
                 isa, threads);
        bench_register(name, bench_variant, &cases[used++], BENCH_MILLISECONDS);
      }
    }
  }
}
