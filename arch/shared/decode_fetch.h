/* Prefetches of decoding: the next keys and the rows of the next block. Part of decode.h and of formats. */
#ifndef FOVEA_ARCH_SHARED_DECODE_FETCH_H
#define FOVEA_ARCH_SHARED_DECODE_FETCH_H

#include "../args/decode.h"
#include "../kernels.h"

/* Prefetches rows that are read later into L2 while other rows are computed, each row as a whole, from four places
 * of their block in turn. The prefetcher of L2 runs ahead in each page of which consecutive lines were read. In
 * four pages at once it keeps more lines in flight than a core's fill buffers do in one. */
typedef struct decode_prefetch {
  const void *const *rows;
  int next, quarter; /* of the block */
} decode_prefetch;

enum { DECODE_PLACES = 4 };

/* Starts with the n-th row, in order of prefetches, of `count` rows. */
FOVEA_INLINE decode_prefetch decode_prefetch_from(const void *const *rows, int count, int n) {
  int quarter = count / DECODE_PLACES;
  return (decode_prefetch){rows, n % DECODE_PLACES * quarter + n / DECODE_PLACES, quarter};
}

FOVEA_INLINE const char *decode_prefetch_next(decode_prefetch *prefetch) {
  const void *row = prefetch->rows[prefetch->next];
  prefetch->next += prefetch->quarter;
  if (prefetch->next >= DECODE_PLACES * prefetch->quarter) prefetch->next -= DECODE_PLACES * prefetch->quarter - 1;
  return row;
}

/* Prefetches a row into L1 or L2, in pairs of lines: L2 fetches both anyway. */
FOVEA_INLINE void decode_fetch_row(const char *row, int64_t bytes, const int into_l1) {
  const char *end = row + bytes;
  FOVEA_NO_UNROLL
  for (; row < end; row += 128) {
    if (into_l1) {
      __builtin_prefetch(row, 0, 3);
      __builtin_prefetch(row + 64, 0, 3);
    } else {
      __builtin_prefetch(row, 0, 2);
      __builtin_prefetch(row + 64, 0, 2);
    }
  }
}

/* Prefetches the next keys from L2 into L1, and one of the rows to prefetch for each key from memory into L2.
 * Loads that jump from row to row find all fill buffers taken by lines from memory. So rows are prefetched whole,
 * one after the other, and early. */
typedef struct decode_fetch {
  const void *const *near;
  decode_prefetch far;
  int width; /* keys that are multiplied together */
  int far_begin,
      far_end;      /* of `width` far rows, the share of these query rows; other query rows prefetch the rest */
  int64_t row, due; /* the next row; the rows that are due, times `squares` */
  int64_t squares;  /* squares of dims over which the prefetches are spread */
} decode_fetch;

FOVEA_INLINE decode_fetch decode_plan_fetch(const fovea_decode_score_args *args, int row, int rows, int width,
                                            int64_t step) {
  return (decode_fetch){.width = width,
                        .far_begin = width * row / args->row_count,
                        .far_end = width * (row + rows) / args->row_count,
                        .squares = args->dim / step};
}

FOVEA_INLINE void decode_fetch_from(decode_fetch *fetch, const fovea_decode_score_args *args, int key) {
  const int next = key + fetch->width;
  fetch->near = next + fetch->width <= args->key_count ? args->keys + next : args->prefetch;
  fetch->far = decode_prefetch_from(args->prefetch, args->key_count, key + fetch->far_begin);
  fetch->row = fetch->due = 0;
}

FOVEA_INLINE void decode_fetch_rows(decode_fetch *fetch, int64_t bytes) {
  fetch->due += fetch->width;
  FOVEA_NO_UNROLL
  for (; fetch->row * fetch->squares < fetch->due; fetch->row++) {
    int is_far = fetch->row >= fetch->far_begin && fetch->row < fetch->far_end;
    if (is_far) decode_fetch_row(decode_prefetch_next(&fetch->far), bytes, 0);
    decode_fetch_row(fetch->near[fetch->row], bytes, 1);
  }
}

/* Prefetches one of the rows to prefetch after every `passes` reads of a value. Each value of this block is read
 * `passes` times, so all rows are prefetched. */
typedef struct decode_value_fetch {
  decode_prefetch prefetch;
  int passes, due;
} decode_value_fetch;

FOVEA_INLINE void decode_fetch_values(decode_value_fetch *fetch, int64_t bytes) {
  if (++fetch->due < fetch->passes) return;
  fetch->due = 0;
  decode_fetch_row(decode_prefetch_next(&fetch->prefetch), bytes, 0);
}

#endif
