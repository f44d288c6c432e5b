/* Few rows (decoding): keys or dims in the lanes instead of rows. Part of bodies.h; tiles.h gives
 *
 *   FOVEA_DECODE_ROWS          up to this many rows are faster this way, at most FOVEA_DECODE_ROWS_LIMIT
 *   FOVEA_DECODE_KEY_VECTORS_<n>    vectors of keys beside n rows in the register tile of panels, n = 1, 2, 4, 8
 *   FOVEA_DECODE_VECTORS_<n>   vectors of dims beside n rows in the register tile of values, likewise
 *
 * each at most 8; 0 for n = 2 to 8 says that so many rows are taken fewer at a time, for less code. */

#include "../kernels.h"
#include "mask.h"
#include "state.h"
#include "terms.h"
#include "tile.h"
#include "types.h"

/* Eight rows at a time are for f32 alone: elements of other types are widened once for four rows. */
#define DECODE_EIGHT(type) (FOVEA_DECODE_VECTORS_8 > 0 && (type) == FOVEA_F32)

/* Up to DECODE_SQUARE elements as f32. */
FOVEA_NOINLINE void typed_load_few(const void *row, int64_t first, int count, fovea_type type, float *elements) {
  for (int i = 0; i < count; i++) {
    TYPED(type, vec_store_first(elements + i, typed_load_first(row, first + i, 1, constant), 1))
  }
}

/* Rows are taken in eights, fours, twos and ones. */
FOVEA_INLINE int decode_rows_at(int row, int row_count, fovea_type type) {
  if (DECODE_EIGHT(type) && row + 8 <= row_count) return 8;
  if (FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= row_count) return 4;
  return FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= row_count ? 2 : 1;
}

/* Rows of the next block, asked for out of memory into L2 while this one is worked on, each as a whole. Four places
 * of the block take turns: the prefetcher of L2 runs ahead in every page where it has seen lines one after another,
 * and in four pages at once it keeps more of them in flight than a core's fill buffers do for one. */
typedef struct decode_prefetch {
  const void *const *rows;
  int next, quarter; /* of the block */
} decode_prefetch;

enum { DECODE_PLACES = 4 };

/* From the n-th that is asked for on, of `count`. */
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

/* A row into L1 or into L2, by pairs of lines, as L2 fetches them anyway. */
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

/* Where the sums of one piece of the dims go, and what they are multiplied by. */
typedef struct decode_sums {
  float *to;      /* the first row's, the first key's */
  int64_t stride; /* between rows */
  float scale;
} decode_sums;

/* The scores themselves, where there is but one piece. */
FOVEA_INLINE decode_sums decode_scores(const fovea_decode_score_args *args, int row, int key) {
  return (decode_sums){args->scores + row * FOVEA_BLOCK_KEYS + key, FOVEA_BLOCK_KEYS, args->c};
}

/* Pieces before the last keep their running sum where the scores are going to be. */
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

/* The sums of one piece of the dims of a vector of keys, for some rows. */
FOVEA_INLINE void decode_keep(const fovea_decode_score_args *args, float *scores, const int rows, int first_piece,
                              int last_piece, const vec *sum) {
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++, scores += FOVEA_BLOCK_KEYS) {
    vec total = sum[r];
    if (!first_piece) total = vec_add(vec_load(scores), total);
    vec_store(scores, last_piece ? vec_mul(total, vec_set1(args->c)) : total);
  }
}

#include "decode_panels.h"
#include "decode_score.h"
#include "decode_softmax.h"
#include "decode_value.h"

FOVEA_KERNEL void FOVEA_NAME(decode_score)(const fovea_decode_score_args *args) {
  if (args->panels) {
    decode_panels_any(args);
  } else {
    decode_score_any(args);
  }
}
