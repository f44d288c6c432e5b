/* fovea_append() to quantised caches, beside a copy. */
#include "formats.h"
#include "machine.h"
#include "runner.h"
#include "vector_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  row_count = 512,
  kv_heads = 8,
  dim = 128,
  numbers = row_count * kv_heads * dim,
  angles = row_count * dim / 2
};

/* State kept from round to round of one benchmark. */
static struct {
  const bench_append_case *of;
  float *from, *copied; /* keys, then values */
  float *tables;        /* cosines, then sines */
  char *memory;         /* the cache */
  int64_t cache_bytes;
  fovea_format format;
  fovea_code_scales scales;
  fovea_segment segment;
  fovea_sequence sequence;
  fovea_new_rows rows;
  fovea_rotary rotary;
  fovea_execution execution;
  char refusal[256];
} append;

static void fill(float *values, size_t count) {
  uint32_t state = 7;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
  }
}

/* Bytes of a row of the cache, without scales that lie apart; 0 if there is no such format. */
static int64_t choose_format(fovea_error *error) {
  if (strcmp(append.of->format, "f32") == 0) return dim * (int64_t)sizeof(float);
  if (fovea_format_init(&append.format, (fovea_format_name)fovea_format_named(append.of->format), error) !=
      FOVEA_OK)
    return 0;
  return fovea_format_bytes(&append.format, dim, error);
}

static fovea_code_scales place_scales(char *scales) {
  const int64_t row = append.format.key_group ? (int64_t)sizeof(float) : 0; /* else all rows have one scale */
  const float whole = 1.0f / 128.0f;
  memcpy(scales, &whole, sizeof whole);
  return (fovea_code_scales){.scales = scales, .head = row_count * row, .row = row};
}

/* (kv head, row, dim), then scales of keys and of values if they lie apart, with room for one of each row. */
static void make_segment(int64_t row_bytes) {
  const int has_format = append.format.struct_size != 0;
  const int64_t row = has_format ? row_bytes : dim;
  char *scales = append.memory + 2 * kv_heads * row_count * row_bytes;
  append.segment = (fovea_segment){.rows = row_count,
                                   .k = append.memory,
                                   .v = append.memory + kv_heads * row_count * row_bytes,
                                   .k_head = row_count * row,
                                   .k_row = row,
                                   .v_head = row_count * row,
                                   .v_row = row,
                                   .k_format = has_format ? &append.format : NULL,
                                   .v_format = has_format ? &append.format : NULL};
  if (has_format && append.format.place == FOVEA_SCALES_APART) {
    append.segment.k_scales = place_scales(scales);
    append.segment.v_scales = place_scales(scales + kv_heads * row_count * (int64_t)sizeof(float));
  }
  append.cache_bytes = 2 * kv_heads * row_count * (row_bytes + append.segment.k_scales.row);
}

static void make_tables(void) {
  for (int i = 0; i < angles; i++) {
    const int position = i / (dim / 2), pair = i % (dim / 2);
    const double angle = position * pow(10000.0, -2.0 * pair / dim);
    append.tables[i] = (float)cos(angle);
    append.tables[angles + i] = (float)sin(angle);
  }
  append.rotary.cosines = append.tables;
  append.rotary.sines = append.tables + angles;
  append.rotary.table_rows = row_count;
}

static void run_append(void) {
  fovea_error error;
  if (fovea_append(&append.rows, &append.rotary, &append.execution, &error) != FOVEA_OK)
    snprintf(append.refusal, sizeof append.refusal, "%s", error.text);
}

static void prepare(const bench_append_case *wanted) {
  fovea_error error = {.text = ""};
  if (append.of == wanted) return;
  free(append.from);
  free(append.copied);
  free(append.memory);
  free(append.tables);
  memset(&append, 0, sizeof append);
  append.of = wanted;
  const int64_t row_bytes = choose_format(&error);
  append.from = bench_allocate(2 * numbers * sizeof(float));
  append.copied = bench_allocate(2 * numbers * sizeof(float));
  append.memory = bench_allocate(2 * numbers * sizeof(float) + 2 * kv_heads * row_count * sizeof(float));
  append.tables = bench_allocate(2 * angles * sizeof(float));
  if (wanted->threads > machine_threads())
    snprintf(append.refusal, sizeof append.refusal, "no more than %d thread(s) here", machine_threads());
  else if (!row_bytes)
    snprintf(append.refusal, sizeof append.refusal, "%s", error.text);
  else if (!append.from || !append.copied || !append.memory || !append.tables || !vector_kernels_best())
    snprintf(append.refusal, sizeof append.refusal, "not enough memory, or no loop that copies");
  if (append.refusal[0]) return;
  fill(append.from, 2 * numbers);
  make_segment(row_bytes);
  append.sequence = fovea_sequence_of(&append.segment, 1);
  fovea_new_rows_init(&append.rows, 1, kv_heads, row_count, dim, dim, append.from, append.from + numbers,
                      &append.sequence);
  fovea_rotary_init(&append.rotary, FOVEA_ROTARY_HALVES, dim);
  if (wanted->has_tables) make_tables();
  fovea_execution_init(&append.execution);
  append.execution.threads = wanted->threads;
  run_append();
}

static void copy_bytes(void) {
  memcpy(append.copied, append.from, 2 * numbers * sizeof(float));
}

static void copy_vectors(void) {
  vector_kernels_best()->copy(append.copied, append.from, 2 * numbers);
}

static double time_of(void (*call)(void)) {
  int runs = 0;
  double seconds = 0.0;
  const double start = machine_now();
  while (seconds < BENCH_SLICE && !append.refusal[0]) {
    call();
    runs++;
    seconds = machine_now() - start;
  }
  return runs ? seconds / runs : 0.0;
}

/* On one thread, whatever the threads of fovea_append(). */
static double copy_seconds(void) {
  const double bytes = time_of(copy_bytes), vectors = time_of(copy_vectors);
  return bytes < vectors ? bytes : vectors;
}

void bench_append(bench_round *round, const void *argument) {
  prepare(argument);
  const double copy_before = copy_seconds();
  const double seconds = time_of(run_append);
  const double copy = 0.5 * (copy_before + copy_seconds());
  if (append.refusal[0]) {
    bench_skip(round, append.refusal);
    return;
  }
  const double wide = 2.0 * numbers * sizeof(float);
  const double rate = (wide + (double)append.cache_bytes) / seconds, copy_rate = 2.0 * wide / copy;
  bench_seconds(round, seconds);
  bench_counter(round, "gigabytes_per_second", rate * 1e-9);
  bench_counter(round, "copy_gigabytes_per_second", copy_rate * 1e-9);
  bench_counter(round, "copy_fraction", rate / copy_rate);
  bench_counter(round, "time_over_copy", seconds / copy);
}
