#include "caches.h"

#include "../arch/formats.h"
#include "coded.h"
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t page_rows(const bench_workload *workload) {
  return workload->shape->page_rows > 0 ? workload->shape->page_rows : 16;
}

static size_t bytes_of(int64_t elements, fovea_type type) {
  return (size_t)fovea_bytes(type, elements);
}

static int fail(fovea_error *error, const char *text) {
  snprintf(error->text, sizeof error->text, "%s", text);
  return 0;
}

/* The pages of a growing cache soon lie in any order: a shuffled table. */
static void shuffle(int32_t *table, int64_t count) {
  uint32_t state = 5;
  for (int64_t i = 0; i < count; i++) table[i] = (int32_t)i;
  for (int64_t i = count - 1; i > 0; i--) {
    state = state * 1664525u + 1013904223u;
    const int64_t other = (int64_t)(state >> 8) % (i + 1);
    const int32_t kept = table[i];
    table[i] = table[other];
    table[other] = kept;
  }
}

/* Panels are one page with room for all keys. */
static fovea_pages describe_pages(const bench_workload *workload) {
  const fovea_problem *problem = &workload->problem;
  const int paged = workload->shape->cache == BENCH_PAGES;
  fovea_pages pages;
  fovea_pages_init(&pages, paged ? problem->kv_len / page_rows(workload) : 1,
                   paged ? page_rows(workload) : problem->kv_len, problem->kv_heads, problem->qk_dim,
                   problem->v_dim, problem->k_type, paged ? FOVEA_KEYS_IN_ROWS : FOVEA_KEYS_IN_PANELS);
  pages.k_strides.batch += workload->shape->page_gap;
  pages.v_strides.batch += workload->shape->page_gap;
  return pages;
}

static int make_segments(bench_workload *workload, const fovea_pages *pages, fovea_error *error) {
  workload->page_table = calloc((size_t)pages->count, sizeof *workload->page_table);
  workload->segments = calloc((size_t)pages->count, sizeof *workload->segments);
  if (!workload->page_table || !workload->segments) return fail(error, "not enough memory");
  shuffle(workload->page_table, pages->count);
  return fovea_cache_paged(pages, workload->page_table, pages->count, 0, workload->problem.kv_len,
                           workload->segments, pages->count, &workload->sequence, error) == FOVEA_OK;
}

static int fill_segments(const bench_workload *workload, fovea_error *error) {
  const fovea_problem *problem = &workload->problem;
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, 1, problem->kv_heads, problem->kv_len, problem->qk_dim, problem->v_dim,
                      workload->tensors.k, workload->tensors.v, &workload->sequence);
  rows.k_type = problem->k_type;
  rows.v_type = problem->v_type;
  return fovea_append(&rows, NULL, NULL, error) == FOVEA_OK;
}

/* Whether the workload gives the same bits with segments, which it uses from now on. In exact mode: in int8 mode
 * codes that are stored differ from codes made of the numbers that they stand for. */
static int has_same_bits(bench_workload *workload, fovea_error *error) {
  const size_t bytes = bytes_of((int64_t)workload->output_count, workload->shape->type);
  workload->problem.modes.score = workload->problem.modes.value = FOVEA_MODE_EXACT;
  if (fovea_attend(&workload->problem, &workload->tensors, NULL, error) != FOVEA_OK) return 0;
  void *expected = malloc(bytes);
  if (!expected) return fail(error, "not enough memory");
  memcpy(expected, workload->tensors.o, bytes);
  memset(workload->tensors.o, 0, bytes);
  workload->problem.cache.segmented = 1;
  workload->tensors.cache.sequences = &workload->sequence;
  workload->tensors.k = workload->tensors.v = NULL;
  int same = fovea_attend(&workload->problem, &workload->tensors, NULL, error) == FOVEA_OK;
  if (same && memcmp(expected, workload->tensors.o, bytes) != 0)
    same = fail(error, "the cache gives other bits than contiguous tensors");
  free(expected);
  workload->problem.modes.score = workload->shape->scores;
  workload->problem.modes.value = workload->shape->values;
  return same;
}

static void take_memory(bench_workload *workload, char *memory, size_t bytes) {
  free(workload->kv_memory);
  workload->kv_memory = memory;
  workload->kv_bytes = bytes;
  workload->k = workload->v = NULL;
}

static int create_coded(bench_workload *workload, fovea_error *error) {
  const int64_t keys = workload->problem.kv_len;
  const bench_coded_pages pages = workload->shape->cache == BENCH_PAGES
                                      ? (bench_coded_pages){keys / page_rows(workload), page_rows(workload)}
                                      : (bench_coded_pages){1, keys};
  const size_t bytes = bench_coded_bytes(workload, &pages, error);
  if (!bytes) return 0;
  char *memory = bench_allocate(bytes);
  workload->page_table = calloc((size_t)pages.count, sizeof *workload->page_table);
  workload->segments = calloc((size_t)pages.count, sizeof *workload->segments);
  int made = memory && workload->page_table && workload->segments;
  if (!made) fail(error, "not enough memory");
  if (made) {
    shuffle(workload->page_table, pages.count);
    bench_coded_fill(workload, &pages, memory);
    made = has_same_bits(workload, error);
  }
  take_memory(workload, memory, bytes);
  return made;
}

int bench_cache_create(bench_workload *workload, fovea_error *error) {
  if (workload->shape->format) return create_coded(workload, error);
  if (workload->shape->cache == BENCH_CONTIGUOUS) return 1;
  fovea_pages pages = describe_pages(workload);
  const size_t k_bytes = bytes_of(pages.count * pages.k_strides.batch, pages.k_type);
  const size_t v_bytes = bytes_of(pages.count * pages.v_strides.batch, pages.v_type);
  char *memory = bench_allocate(k_bytes + v_bytes);
  if (!memory) return fail(error, "not enough memory");
  pages.k = memory;
  pages.v = memory + k_bytes;
  const int made =
      make_segments(workload, &pages, error) && fill_segments(workload, error) && has_same_bits(workload, error);
  take_memory(workload, memory, k_bytes + v_bytes);
  return made;
}

static machine_piece piece_of(const void *rows, int64_t head, int64_t head_stride, int64_t elements,
                              fovea_type type) {
  return (machine_piece){(const char *)rows + bytes_of(head * head_stride, type), bytes_of(elements, type)};
}

double bench_pages_read_rate(const bench_workload *workload, double seconds) {
  const fovea_problem *problem = &workload->problem;
  const int64_t segments = workload->sequence.count;
  machine_piece *pieces = calloc((size_t)(4 * problem->kv_heads * segments), sizeof *pieces);
  if (!pieces) return 0.0;
  size_t count = 0;
  for (int64_t head = 0; head < problem->kv_heads; head++)
    for (int64_t i = 0; i < segments; i++) {
      const fovea_segment *at = &workload->segments[i];
      if (workload->shape->format) {
        count += bench_coded_pieces(workload, at, head, &pieces[count]);
        continue;
      }
      pieces[count++] = piece_of(at->k, head, at->k_head, at->rows * problem->qk_dim, at->k_type);
      pieces[count++] = piece_of(at->v, head, at->v_head, at->rows * problem->v_dim, at->v_type);
    }
  const double rate = machine_read_rate_of_pieces(pieces, count, seconds);
  free(pieces);
  return rate;
}
