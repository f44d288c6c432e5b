/* Benchmarks of variants against length. */
#include "variants.h"

#include "machine.h"
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 1, DIM = 64, LENGTHS = 10, SHORTEST = 128, MOST_THREADS = 2, CASES = 1024 };
/* Exact attention over more keys is measured alone, since it takes seconds. */
enum { COMPARED = 16384 };

typedef struct variant_case {
  const variant *variant;
  int64_t length;
  int threads;
} variant_case;

static struct {
  const variant_case *of;
  variant_call *call, *exact;
  float *q, *k, *v, *o, *exact_o;
} current;

static void release(void) {
  variant_end(current.call);
  variant_end(current.exact);
  free(current.q), free(current.k), free(current.v), free(current.o), free(current.exact_o);
  memset(&current, 0, sizeof current);
}

static int begin_exact(const variant_case *wanted, variant_call sizes) {
  const variant *exact = wanted->variant->causal ? &variant_exact_causal : &variant_exact;
  if (wanted->variant == exact || wanted->length > COMPARED) return 1;
  sizes.o = current.exact_o;
  current.exact = variant_begin(exact, &sizes);
  return current.exact && variant_run(current.exact) == FOVEA_OK;
}

static int prepare(const variant_case *wanted) {
  const size_t count = (size_t)HEADS * (size_t)wanted->length * DIM;
  if (current.of == wanted) return 1;
  release();
  current.q = variant_draw(count, 1, 1), current.k = variant_draw(count, 2, 1),
  current.v = variant_draw(count, 3, 1);
  current.o = variant_draw(count, 4, 1), current.exact_o = variant_draw(count, 5, 1);
  if (!current.q || !current.k || !current.v || !current.o || !current.exact_o) return 0;
  const variant_call sizes = {.heads = HEADS,
                              .length = wanted->length,
                              .dim = DIM,
                              .threads = wanted->threads,
                              .q = current.q,
                              .k = current.k,
                              .v = current.v,
                              .o = current.o};
  current.call = variant_begin(wanted->variant, &sizes);
  if (!current.call || !begin_exact(wanted, sizes) || variant_run(current.call)) return 0;
  current.of = wanted;
  return 1;
}

static double time_of(const variant_call *call) {
  int runs = 0;
  const double start = machine_now();
  double seconds = 0.0;
  for (; seconds < BENCH_SLICE; seconds = machine_now() - start, runs++) {
    variant_run(call);
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
