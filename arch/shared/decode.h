/* Few rows (decoding): keys or dims in the lanes instead of rows. Included once by arch/<isa>/decode.c, after the
 * vector layer and tiles.h, which gives
 *
 *   FOVEA_DECODE_ROWS          up to this many rows are faster this way, at most FOVEA_DECODE_ROWS_LIMIT
 *   FOVEA_DECODE_GROUPS_<n>    vectors of keys in the register tile of panels beside n rows, n = 1, 2, 4, 8; at
 * most 8 FOVEA_DECODE_VECTORS_<n>   vectors of dims in the value's register tile beside n rows, likewise
 *
 * where 0 for n = 2 to 8 says that so many rows are taken fewer at a time, for less code. */

#include "../kernels.h"
#include "exp2.h"
#include "mask.h"
#include "tanh.h"
#include "types.h"

/* Eight rows at a time are for f32 alone: elements of other types are widened once for four rows. */
#define DECODE_EIGHT(type) (FOVEA_DECODE_VECTORS_8 > 0 && (type) == FOVEA_F32)

/* Up to DECODE_SQUARE elements as f32. */
FOVEA_NOINLINE void typed_load_few(const void *row, int64_t first, int count, fovea_type type, float *elements) {
  for (int i = 0; i < count; i++) {
    vec element = type == FOVEA_F16    ? typed_load_first(row, first + i, 1, FOVEA_F16)
                  : type == FOVEA_BF16 ? typed_load_first(row, first + i, 1, FOVEA_BF16)
                                       : typed_load_first(row, first + i, 1, FOVEA_F32);
    vec_store_first(elements + i, element, 1);
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
  switch (args->type) {
  case FOVEA_F16:
    (args->panels ? decode_panels_f16 : decode_score_f16)(args);
    break;
  case FOVEA_BF16:
    (args->panels ? decode_panels_bf16 : decode_score_bf16)(args);
    break;
  default:
    (args->panels ? decode_panels_f32 : decode_score_f32)(args);
    break;
  }
}
