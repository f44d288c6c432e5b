/* Caches that hold the keys and values of a trial, filled number by number by the words of the header. Pieces of
 * memory lie between guard pages. Numbers that belong to no key or value are NaN. */
#ifndef FOVEA_TESTS_CACHES_H
#define FOVEA_TESTS_CACHES_H

#include "problems.h"
#include "trial.h"

#include <fovea/cache.h>

enum cache_kind {
  CACHE_CONTIGUOUS,  /* one segment, with room to grow */
  CACHE_CUT,         /* cut anywhere, rows */
  CACHE_PANELS,      /* cut anywhere, panels */
  CACHE_CUT_LAYOUTS, /* cut anywhere, rows and panels */
  CACHE_PAGED,       /* page, head, row */
  CACHE_PAGED_ROWS,  /* page, row, head */
  CACHE_PAGED_PANELS,
  CACHE_RING,
  CACHE_RING_PANELS,
  CACHE_KINDS
};

struct cache {
  fovea_sequence sequences[LISTED_ENTRIES];
  fovea_segment *segments[LISTED_ENTRIES];
  struct guarded *memory; /* pieces */
  int memory_count;
};

/* Holds positions begins[b] (begins NULL: 0) to the batch element's key length. With `mixed` types, each segment of
 * a cache that is cut has its own types; all of them must be able to hold the trial's numbers. */
struct cache cache_create(const struct trial *trial, enum cache_kind kind, int mixed, const int64_t *begins,
                          struct generator *generator);
void cache_destroy(struct cache *cache);

/* The place of one element of a row, counted from the segment's k (v). */
int64_t segment_place(const fovea_segment *segment, int values, int64_t head, int64_t position, int64_t dim);

/* Writes the numbers of one row, rounded to the type; in panels of bf16 also the zero beside an odd last dim. */
void segment_write(const fovea_segment *segment, int values, int64_t head, int64_t position, const float *numbers,
                   int64_t dim);

/* Sets a segment's strides for keys (values) with heads outermost or rows outermost. Returns how many elements they
 * take. */
int64_t segment_lay_out(fovea_segment *segment, int values, int64_t kv_heads, int64_t dim, int rows_first);

/* Runs the trial's problem on sequences, into the trial's outputs. `begins` may be NULL. */
void trial_run_cached(struct trial *trial, const char *isa, const fovea_sequence *sequences, const int64_t *begins);

#endif
