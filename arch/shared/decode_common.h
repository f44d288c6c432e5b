/* What the operations of decoding share: register tiles, prefetches of the next block, sums of one piece of dims.
 * Part of decode.h.
 *
 *   FOVEA_DECODE_VECTORS_<n>   as in decode.h: which numbers of rows have register tiles */

#include "../kernels.h"
#include "mask.h"
#include "state.h"
#include "terms.h"
#include "tile.h"
#include "types.h"

_Static_assert(FOVEA_DECODE_ROWS <= FOVEA_DECODE_ROWS_LIMIT, "arrays of decoding have room for every row");

/* Only f32 has register tiles of eight rows. Elements of other types are widened once for four rows. */
#define DECODE_EIGHT(type) (FOVEA_DECODE_VECTORS_8 > 0 && (type) == FOVEA_F32)

/* Loads up to DECODE_SQUARE elements as f32. */
FOVEA_SHORT FOVEA_NOINLINE void typed_load_few(const void *row, int64_t first, int count, fovea_type type,
                                               float *elements) {
  for (int i = 0; i < count; i++) {
    TYPED(type, vec_store_first(elements + i, typed_load_first(row, first + i, 1, constant), 1))
  }
}

/* Returns how many rows the register tile from `row` on has: 8, 4, 2 or 1. */
FOVEA_INLINE int decode_rows_at(int row, int row_count, fovea_type type) {
  if (DECODE_EIGHT(type) && row + 8 <= row_count) return 8;
  if (FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= row_count) return 4;
  return FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= row_count ? 2 : 1;
}

/* Prefetches rows that are read later into L2 while other rows are computed, each row as a whole, from four places
 * of their block in turn. The prefetcher of L2 runs ahead in each page in which it has seen consecutive lines. In four
 * pages at once it keeps more lines in flight than a core's fill buffers do in one. */
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

/* Where the sums of one piece of the dims go, and their factor. */
typedef struct decode_sums {
  float *to;      /* of the first row and the first key */
  int64_t stride; /* between rows */
  float scale;
} decode_sums;

/* If there is only one piece, its sums become the scores. */
FOVEA_INLINE decode_sums decode_scores(const fovea_decode_score_args *args, int row, int key) {
  return (decode_sums){args->scores + row * FOVEA_BLOCK_KEYS + key, FOVEA_BLOCK_KEYS, args->c};
}

/* Adds the sums of a piece to the running sums in the scores' place. The last piece makes them scores. */
FOVEA_NOINLINE void decode_keep_numbers(const fovea_decode_score_args *args, int row, int rows, int key, int width,
                                        int first_piece, int last_piece, const float *numbers) {
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++, numbers += width) {
    float *scores = args->scores + (row + r) * FOVEA_BLOCK_KEYS + key;
    FOVEA_NO_UNROLL
    for (int i = 0; i < width; i += LANES) {
      vec total = vec_load(numbers + i);
      if (!first_piece) total = vec_add(vec_load(scores + i), total);
      if (last_piece) total = vec_mul(total, vec_set1(args->c));
      vec_store(scores + i, total);
    }
  }
}

/* The same for one vector of keys with its sums in registers. */
FOVEA_INLINE void decode_keep(const fovea_decode_score_args *args, float *scores, const int rows, int first_piece,
                              int last_piece, const vec *sum) {
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++, scores += FOVEA_BLOCK_KEYS) {
    vec total = sum[r];
    if (!first_piece) total = vec_add(vec_load(scores), total);
    vec_store(scores, last_piece ? vec_mul(total, vec_set1(args->c)) : total);
  }
}
