/* Sums of products of codes for the mode int8 (docs/numerics.md, section 16), with rows in the lanes. All sums are
 * integers that 32 bits have, so any order gives the same. A word of 32 bits has the codes of INT8_CODES dims, or
 * keys, one after the other. Before it comes a layer, which gives
 *
 *   INT8_CODES                 codes of a word; 1: it is an f32 number
 *   INT8_INSTRUCTION           what adds products, by name
 *   INT8_KEYS_OFFSET           128: codes of keys are stored with this added; else 0
 *   INT8_VALUES_OFFSET         the same for values
 *   INT8_MANY, INT8_OF_ONE     keys or dims of a register tile beside all vectors of a tile, and beside one
 *   INT8_CHAINS                keys whose weights are computed at once, a multiple of INT8_CODES
 *   int8_sum                   sums, one in each lane
 *   int8_start(x)              of integers in f32
 *   int8_add_keys(x, y, sum)   adds products of words: x of a row each, y of one key in all lanes
 *   int8_add_values(x, y, sum) the same for weights and values
 *   int8_number(sum)           as f32
 *   int8_word(codes)           a word in each lane of the lowest bytes of INT8_CODES vectors
 *   int8_store(p, d, codes)    stores the lowest bytes of a vector as codes d to d + LANES - 1 of the words at p
 *
 * and may give, for rows that are stored as codes
 *
 *   INT8_COPIES                      codes that the next two copy of a row
 *   int8_copy_key(p, codes)          as words of a key
 *   int8_copy_word(p, codes, stride) of INT8_CODES keys, `stride` bytes apart, as words of their dims; with
 *                                    INT8_PAIRS of twice as many keys
 *
 * and, if an instruction multiplies by one lane of a register,
 *
 *   INT8_FOURS
 *   int8_add_keys_lane(x, y, lane, sum), int8_add_values_lane(x, y, lane, sum)
 *                                    as without _lane, with the word of that lane; macros
 *
 * and, if an instruction multiplies two rows by two keys or dims (int8_pairs.h), in place of int8_start() and of
 * all that adds,
 *
 *   INT8_PAIRS                       both offsets are 0
 *   int8_no_sums()                   sums of 0
 *   int8_add_key_pairs(x, y, sum), int8_add_value_pairs(x, y, sum)
 *                                    adds to row 0 with key 0, row 0 with key 1, row 1 with key 0, row 1 with key 1
 *   int8_first(a, b), int8_second(a, b)
 *                                    the even, or the odd, lanes of a and b
 *   int8_zip(words)                  two vectors: their lanes in turn
 *
 * and, if packing takes fewer instructions than int8_word(),
 *
 *   INT8_HAS_WEIGHT_WORD
 *   int8_weight_word(weights)        a word of the nearest integers of weights, at most 255
 *
 * The vectors of int8_word() and int8_store() are the sums of an integer and INT8_SHIFT (int8_operands.h). Part of
 * int8.h. */

/* What a register tile multiplies: word i has rows lanes[i * ROW_TILE + row] and scalars[i * item + n * step], for
 * keys or dims n. In pairs, words and numbers i and n are pairs. */
typedef struct int8_products {
  const float *lanes, *scalars;
  int64_t item, step, count;
  const float *start; /* of each row; NULL: 0 */
  int second;         /* whether scalars begin with the second number of a pair */
} int8_products;

typedef struct int8_tile {
  int8_sum sum[16][4];
} int8_tile;

#ifdef INT8_PAIRS
#include "int8_pairs.h"
#else
/* The words of one item from lanes and scalars on. The fewer ones stay in registers: of three by three keys or
 * dims, since gcc then moves three sums an item on AVX2, and else six. */
FOVEA_INLINE void int8_add_item(const int numbers, const int vectors, const int of_keys, const float *lanes,
                                const float *scalars, int64_t step, int8_tile *tile) {
  const int few = numbers < vectors ? numbers : vectors, many = numbers + vectors - few;
  vec kept[4];
  FOVEA_UNROLL
  for (int i = 0; i < few; i++)
    kept[i] = numbers == few ? vec_set1(scalars[i * step]) : vec_load(lanes + i * LANES);
  FOVEA_UNROLL
  for (int i = 0; i < many; i++) {
    const vec other = numbers == few ? vec_load(lanes + i * LANES) : vec_set1(scalars[i * step]);
    FOVEA_UNROLL
    for (int j = 0; j < few; j++) {
      const vec x = numbers == few ? other : kept[j], y = numbers == few ? kept[j] : other;
      int8_sum *sum = numbers == few ? &tile->sum[j][i] : &tile->sum[i][j];
      *sum = of_keys ? int8_add_keys(x, y, *sum) : int8_add_values(x, y, *sum);
    }
  }
}

#ifdef INT8_FOURS
/* The same of four items of keys, whose words are neighbours, ... */
#define INT8_ADD_FOURTH(i)                                                                                         \
  FOVEA_UNROLL                                                                                                     \
  for (int v = 0; v < vectors; v++) {                                                                              \
    const vec x = vec_load(lanes + (i)*ROW_TILE + v * LANES);                                                      \
    FOVEA_UNROLL                                                                                                   \
    for (int n = 0; n < numbers; n++) tile->sum[n][v] = int8_add_keys_lane(x, y[n], i, tile->sum[n][v]);           \
  }
FOVEA_INLINE void int8_add_four_keys(const int numbers, const int vectors, const float *lanes, const float *scalars,
                                     int64_t step, int8_tile *tile) {
  vec y[16];
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) y[n] = vec_load(scalars + n * step);
  INT8_ADD_FOURTH(0)
  INT8_ADD_FOURTH(1)
  INT8_ADD_FOURTH(2)
  INT8_ADD_FOURTH(3)
}

/* ... and of one item of values, whose dims are neighbours, four at a time. */
#define INT8_ADD_DIM(i) tile->sum[n + (i)][v] = int8_add_values_lane(x[v], y, i, tile->sum[n + (i)][v]);
FOVEA_INLINE void int8_add_four_dims(const int numbers, const int vectors, const float *lanes, const float *scalars,
                                     int8_tile *tile) {
  vec x[4];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) x[v] = vec_load(lanes + v * LANES);
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n += 4) {
    const vec y = vec_load(scalars + n);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      INT8_ADD_DIM(0)
      INT8_ADD_DIM(1)
      INT8_ADD_DIM(2)
      INT8_ADD_DIM(3)
    }
  }
}
#endif

FOVEA_INLINE void int8_multiply(const int numbers, const int vectors, const int of_keys,
                                const int8_products *products, int8_tile *tile) {
  const float *lanes = products->lanes, *scalars = products->scalars;
  const int64_t item = of_keys ? 1 : products->item, step = of_keys ? products->step : 1;
  int64_t count = products->count; /* at least 1: gcc keeps copies of sums if the loop may be skipped */
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++)
      tile->sum[n][v] = int8_start(products->start ? vec_load(products->start + v * LANES) : vec_set1(0.0f));
  }
#ifdef INT8_FOURS
  if (of_keys && numbers % 4 == 0) {
    FOVEA_NO_UNROLL
    for (; count >= 4; count -= 4, lanes += 4 * ROW_TILE, scalars += 4)
      int8_add_four_keys(numbers, vectors, lanes, scalars, step, tile);
    FOVEA_NO_UNROLL
    for (; count > 0; count--, lanes += ROW_TILE, scalars++)
      int8_add_item(numbers, vectors, 1, lanes, scalars, step, tile);
    return;
  }
  if (!of_keys && numbers % 4 == 0) {
    FOVEA_NO_UNROLL
    for (; count > 1; count -= 2, lanes += 2 * ROW_TILE, scalars += 2 * item) {
      int8_add_four_dims(numbers, vectors, lanes, scalars, tile);
      int8_add_four_dims(numbers, vectors, lanes + ROW_TILE, scalars + item, tile);
    }
    if (count > 0) int8_add_four_dims(numbers, vectors, lanes, scalars, tile);
    return;
  }
#endif
  do {
    int8_add_item(numbers, vectors, of_keys, lanes, scalars, step, tile);
    lanes += ROW_TILE;
    scalars += item;
  } while (--count > 0);
}
#endif

/* Scores of keys `first` to `first + numbers` - 1 of a call, for vectors from `vector` on. */
typedef struct int8_score_work {
  const fovea_score_args *args;
  int8_products products; /* of the call's first key and the tile's first vector */
  const float *key_scales, *key_logs;
  float *maxima;
  float c[FOVEA_ROW_TILE_LIMIT]; /* of each row */
} int8_score_work;

FOVEA_INLINE void int8_score_keys(const int numbers, const int vectors, const int8_score_work *work, int64_t first,
                                  int vector) {
  int8_products products = work->products;
  int8_tile tile;
  float *to = work->args->scores + first * ROW_TILE + vector * LANES, *maxima = work->maxima + vector * LANES;
  products.lanes += vector * LANES;
  products.scalars += (first + products.second) / INT8_GROUP * products.step;
  products.second = (int)(first + products.second) % INT8_GROUP;
  if (INT8_KEYS_OFFSET) products.start += vector * LANES;
  int8_multiply(numbers, vectors, 1, &products, &tile);
  const float *scales = work->key_scales + first, *logs = work->key_logs + first,
              *factors = work->c + vector * LANES;
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vec c = vec_load(factors + v * LANES);
    vec maximum = vec_load(maxima + v * LANES);
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      const vec s = vec_mul(vec_mul(int8_number(tile.sum[n][v]), vec_set1(scales[n])), c);
      vec_store(to + n * ROW_TILE + v * LANES, s);
      maximum = vec_max(vec_add(s, vec_set1(logs[n])), maximum);
    }
    vec_store(maxima + v * LANES, maximum);
  }
}

/* Outputs of dims `first` to `first + numbers` - 1. */
typedef struct int8_value_work {
  const fovea_value_args *args;
  int8_products products;
} int8_value_work;

/* Merges the sums into what is there, or stores them. */
FOVEA_INLINE void int8_finish_dims(const int numbers, const int vectors, const int merge,
                                   const fovea_value_args *args, int64_t first, int row, const int8_tile *tile) {
  const float *old_parts = args->old_part + row, *new_parts = args->new_part + row, *sums = args->block_sum + row;
  float *output = args->output + first * ROW_TILE + row;
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++, output += LANES) {
    const vec old_part = vec_load(old_parts + v * LANES), new_part = vec_load(new_parts + v * LANES);
    const vec total = vec_load(sums + v * LANES), poison = vec_sub(total, total); /* 0 or NaN */
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      float *to = output + n * ROW_TILE;
      const vec sum = vec_add(int8_number(tile->sum[n][v]), poison);
      vec_store(to, merge ? state_join(vec_load(to), old_part, sum, new_part) : sum);
    }
  }
}

FOVEA_INLINE void int8_value_dims(const int numbers, const int vectors, const int8_value_work *work, int64_t first,
                                  int vector) {
  int8_products products = work->products;
  int8_tile tile;
  products.lanes += vector * LANES;
  products.scalars += first * INT8_GROUP; /* even, if in pairs */
  if (INT8_VALUES_OFFSET) products.start += vector * LANES;
  int8_multiply(numbers, vectors, 0, &products, &tile);
  if (work->args->flags & FOVEA_VALUE_MERGE)
    int8_finish_dims(numbers, vectors, 1, work->args, first, vector * LANES, &tile);
  else
    int8_finish_dims(numbers, vectors, 0, work->args, first, vector * LANES, &tile);
}

/* Each register tile is a function of its own. */
#define INT8_TILE(attributes, name, vectors, numbers)                                                              \
  attributes FOVEA_NOINLINE void sums_score_##name(const void *work, int64_t first, int vector) {                  \
    int8_score_keys(numbers, vectors, work, first, vector);                                                        \
  }                                                                                                                \
  attributes FOVEA_NOINLINE void sums_value_##name(const void *work, int64_t first, int vector) {                  \
    int8_value_dims(numbers, vectors, work, first, vector);                                                        \
  }
INT8_TILE(FOVEA_ALIGNED, many, FOVEA_TILE_VECTORS, INT8_MANY)
INT8_TILE(, many_two, FOVEA_TILE_VECTORS, 2)
INT8_TILE(, many_one, FOVEA_TILE_VECTORS, 1)
INT8_TILE(, single, 1, INT8_OF_ONE)
INT8_TILE(, single_one, 1, 1)

/* The register tiles beside some vectors: of many keys or dims, of two, and of one. */
typedef void int8_tile_function(const void *work, int64_t first, int vector);
typedef struct int8_tiles {
  int8_tile_function *many, *two, *one;
  int numbers; /* of many */
} int8_tiles;

/* All keys or dims, by register tiles beside all vectors, or beside one. */
typedef struct int8_loop {
  int8_tiles all, single;
  const void *work;
  int64_t numbers;
  int second; /* as in int8_products */
  fovea_vector_range vectors;
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} int8_loop;

#define INT8_LOOP(kind)                                                                                            \
  FOVEA_INLINE int8_loop int8_##kind##_loop(const int8_##kind##_work *work, int64_t numbers) {                     \
    return (int8_loop){{sums_##kind##_many, sums_##kind##_many_two, sums_##kind##_many_one, INT8_MANY},            \
                       {sums_##kind##_single, sums_##kind##_single_one, sums_##kind##_single_one, INT8_OF_ONE},    \
                       work,                                                                                       \
                       numbers,                                                                                    \
                       work->products.second,                                                                      \
                       work->args->vectors,                                                                        \
                       work->args->prefetch,                                                                       \
                       work->args->prefetch_count};                                                                \
  }
INT8_LOOP(score)
INT8_LOOP(value)

FOVEA_SHARED_FUNCTION(void, int8_numbers, const int8_loop *loop, const int8_tiles *tiles, int vector,
                      int prefetch_count) {
  const int64_t numbers = loop->numbers;
  const int many = tiles->numbers, few = tiles->two != tiles->one && many > 2 ? 2 : 1;
  row_fetch fetch = fetch_rows(loop->prefetch, prefetch_count);
  const int64_t lines = fetch_share_of(loop->prefetch, prefetch_count, (numbers + many - 1) / many);
  int64_t first = 0;
  if (loop->second) tiles->one(loop->work, first++, vector);
  FOVEA_NO_UNROLL
  for (; first + many <= numbers; first += many) {
    fetch_lines(lines, &fetch);
    tiles->many(loop->work, first, vector);
  }
  FOVEA_NO_UNROLL
  for (; first + few <= numbers; first += few) (few == 2 ? tiles->two : tiles->one)(loop->work, first, vector);
  if (first < numbers) tiles->one(loop->work, first, vector);
}

FOVEA_SHARED_FUNCTION(void, int8_vectors, const int8_loop *loop) {
  const fovea_vector_range vectors = loop->vectors;
  int prefetch_count = loop->prefetch_count;
  if (vectors.count == FOVEA_TILE_VECTORS) {
    FOVEA_SHARED(int8_numbers)(loop, &loop->all, vectors.first, prefetch_count);
    return;
  }
  FOVEA_NO_UNROLL
  for (int v = 0; v < vectors.count; v++, prefetch_count = 0)
    FOVEA_SHARED(int8_numbers)(loop, &loop->single, vectors.first + v, prefetch_count);
}
