/* Codes of rows for linear layers in int8 mode (docs/numerics.md, section 16): measured, made and packed. Part of
 * products.h. */
#ifndef FOVEA_ARCH_SHARED_NN_PRODUCTS_CODES_H
#define FOVEA_ARCH_SHARED_NN_PRODUCTS_CODES_H

#include "../../args/nn_int8.h"
#include "../int8_numbers.h"
#include "../types.h"
#include "products_weights.h"

#include <string.h>

/* LANES numbers of a row of a type that is a constant; the last ones of `dim` with zeros after them. */
FOVEA_INLINE vec int8_numbers(const void *row, int64_t d, int64_t dim, const fovea_type type) {
  return dim - d < LANES ? typed_load_first(row, d, (int)(dim - d), type) : typed_load(row, d, type);
}

/* The sizes of the largest numbers of a row, in any lanes. */
FOVEA_INLINE vec int8_largest_of_row(const void *row, int64_t dim, const fovea_type type) {
  vec largest[2] = {vec_set1(0.0f), vec_set1(0.0f)};
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + 2 * LANES <= dim; d += 2 * LANES) {
    largest[0] = vec_max_size(vec_abs(typed_load(row, d, type)), largest[0]);
    largest[1] = vec_max_size(vec_abs(typed_load(row, d + LANES, type)), largest[1]);
  }
  FOVEA_NO_UNROLL
  for (; d < dim; d += LANES) largest[0] = vec_max_size(vec_abs(int8_numbers(row, d, dim, type)), largest[0]);
  return vec_max_size(largest[0], largest[1]);
}

/* Tables that add to a set take it from the set. */
void FOVEA_SHARED(nn_measure)(const fovea_nn_measure_args *args);
#ifndef FOVEA_BASE
FOVEA_KERNEL void FOVEA_NAME(nn_measure)(const fovea_nn_measure_args *args) {
  for (int row = 0; row < args->rows; row++) {
    const void *x = typed_at(args->x.data, row * args->x.stride, args->x.type);
    vec largest = vec_set1(0.0f);
    TYPED(args->x.type, largest = int8_largest_of_row(x, args->dim, constant))
    largest = int8_or_lost(int8_largest_lane(largest));
    vec_store_first(args->scales + row, int8_scale(largest), 1);
    vec_store_first(args->factors + row, int8_factor(largest), 1);
  }
}
#endif

/* The same of codes that lie as the set packs them. */
#ifdef INT8_CODES_OF_BASE
void FOVEA_SHARED(nn_codes)(const fovea_nn_codes_args *args);
#define INT8_CODES_NAME FOVEA_SHARED(nn_codes)
#else
#define INT8_CODES_NAME FOVEA_NAME(nn_codes)

/* Where codes are made before they are packed. Vectors reach over the end. */
typedef struct int8_bytes {
  uint8_t code[FOVEA_DOT_PIECE + 16];
} int8_bytes;

FOVEA_INLINE void int8_codes_of_type(const void *x, int count, vec factor, vec shift, const fovea_type type,
                                     int8_bytes *bytes) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES)
    vec_store_bytes(bytes->code + i, int8_code(int8_numbers(x, i, count, type), factor, shift));
}

/* Up to FOVEA_DOT_PIECE codes of a row from dim d on, over codes of 0. */
FOVEA_INLINE void int8_codes_of(const fovea_nn_codes_args *args, int row, int64_t d, int count, uint8_t offset,
                                int8_bytes *bytes) {
  const void *x = typed_at(args->x.data, row * args->x.stride + d, args->x.type);
  const vec shift = vec_set1(INT8_SHIFT + (float)offset), factor = vec_set1(args->factors[row]);
  if (args->scales[row] != args->scales[row]) return;
  TYPED(args->x.type, int8_codes_of_type(x, count, factor, shift, constant, bytes))
}

/* Chunks of words of a row from word `word` on, where a chunk begins. `plain` is args->plain, as a constant. */
FOVEA_INLINE void int8_put_chunks(const fovea_nn_codes_args *args, const int plain, int row, int64_t word,
                                  int count, const uint8_t *bytes) {
  const int chunk = plain ? 1 : INT8_CHUNK, size = plain ? FOVEA_NN_WORD_CODES : INT8_WORD_BYTES;
  const int64_t step = (int64_t)args->tile_rows * chunk * size;
  char *to = (char *)args->to + word / chunk * step + row * chunk * size;
  if (plain && args->tile_rows == 1) {
    memcpy(to, bytes, (size_t)count * FOVEA_NN_WORD_CODES);
    return;
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count -= chunk, to += step) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < chunk; i++, bytes += FOVEA_NN_WORD_CODES) {
      if (plain)
        memcpy(to + i * size, bytes, FOVEA_NN_WORD_CODES);
      else
        int8_pack(bytes, to + i * size);
    }
  }
}

/* Adds codes to the sums of their groups. */
FOVEA_INLINE void int8_add_codes(const fovea_nn_codes_args *args, int row, int64_t d, int count, int offset,
                                 const int8_bytes *bytes) {
  const int64_t group = args->group > 0 ? args->group : args->dims;
  for (int i = 0; i < count;) {
    const int64_t rest = group - (d + i) % group;
    const int end = rest < count - i ? i + (int)rest : count;
    int total = 0;
    for (; i < end; i++) total += (int8_t)(uint8_t)(bytes->code[i] - offset);
    args->sums[(d + i - 1) / group * args->tile_rows + row] += (float)total; /* exact: below 2^24 */
  }
}

#ifdef INT8_TURNS_ROWS
enum { INT8_TURNED = LANES }; /* rows whose words are put together */

/* Words of up to LANES rows, transposed: a store for each word of each row took longer than their codes. `to` is the
 * first word; lanes of rows that are not there lie where later words do, but after `last`. */
FOVEA_INLINE void int8_turn(const int8_bytes *rows, int count, int words, int64_t step, char *to,
                            const char *last) {
  FOVEA_NO_UNROLL
  for (int w = 0; w < words; w += LANES) {
    vec square[LANES];
    FOVEA_UNROLL
    for (int row = 0; row < LANES; row++)
      square[row] = vec_load((const float *)(const void *)(rows[row].code + w * FOVEA_NN_WORD_CODES));
    vec_transpose(square);
    const int rest = words - w < LANES ? words - w : LANES;
    FOVEA_NO_UNROLL
    for (int i = 0; i < rest; i++, to += step) {
      float *word = (float *)(void *)to;
      if (count == LANES || to < last)
        vec_store(word, square[i]);
      else
        vec_store_first(word, square[i], count);
    }
  }
}

/* Whether it pays: of a tile whose rows are one part. */
FOVEA_INLINE int int8_turns(const fovea_nn_codes_args *args) {
  return !args->plain && args->tile_rows >= LANES / 2 && args->tile_rows <= LANES;
}
#else
enum { INT8_TURNED = 1 };

FOVEA_INLINE void int8_turn(const int8_bytes *rows, int count, int words, int64_t step, char *to,
                            const char *last) {
  (void)rows, (void)count, (void)words, (void)step, (void)to, (void)last;
}

FOVEA_INLINE int int8_turns(const fovea_nn_codes_args *args) {
  (void)args;
  return 0;
}
#endif

/* Where the word of dim d of a row lies, of a tile whose words are turned. */
FOVEA_INLINE char *int8_word_at(const fovea_nn_codes_args *args, int row, int64_t d) {
  const int64_t word = d / FOVEA_NN_WORD_CODES;
  return (char *)args->to + (word * args->tile_rows + row) * INT8_WORD_BYTES;
}

/* A piece of `rows` rows from row `row` on. */
FOVEA_INLINE void int8_piece(const fovea_nn_codes_args *args, int row, int rows, int64_t d, uint8_t offset) {
  const int count = args->dims - d < FOVEA_DOT_PIECE ? (int)(args->dims - d) : FOVEA_DOT_PIECE;
  const int words = (count + FOVEA_NN_WORD_CODES - 1) / FOVEA_NN_WORD_CODES;
  int8_bytes bytes[INT8_TURNED];
  memset(bytes, offset, rows > 1 ? sizeof bytes : sizeof *bytes);
  for (int i = 0; i < rows && row + i < args->rows; i++) {
    int8_codes_of(args, row + i, d, count, offset, &bytes[i]);
    if (args->sums) int8_add_codes(args, row + i, d, count, offset, &bytes[i]);
  }
  if (rows > 1)
    int8_turn(bytes, rows, words, (int64_t)args->tile_rows * INT8_WORD_BYTES, int8_word_at(args, row, d),
              int8_word_at(args, row, args->dims - 1));
  else if (args->plain)
    int8_put_chunks(args, 1, row, d / FOVEA_NN_WORD_CODES, words, bytes->code);
  else
    int8_put_chunks(args, 0, row, d / FOVEA_NN_WORD_CODES, words, bytes->code);
}

FOVEA_KERNEL void INT8_CODES_NAME(const fovea_nn_codes_args *args) {
  const uint8_t offset = args->plain ? 0 : INT8_OFFSET;
  const int64_t groups = args->group > 0 ? (args->dims + args->group - 1) / args->group : 1;
  const int most = int8_turns(args) ? INT8_TURNED : 1;
  if (args->sums && !args->begun) memset(args->sums, 0, (size_t)(groups * args->tile_rows) * sizeof(float));
  for (int row = 0; row < args->tile_rows; row += most) {
    const int rows = args->tile_rows - row < most ? args->tile_rows - row : most;
    for (int64_t d = 0; d < args->dims; d += FOVEA_DOT_PIECE) int8_piece(args, row, rows, d, offset);
  }
}

#endif
#endif
