/* The mode bf16 on AMX. Rows lie in the columns of tiles, keys or dims in their rows. Operands are pairs of bf16 in
 * words, the first below:
 *
 *   queries  [pair of dims][row], whole groups of 32 dims
 *   keys     [key][pair of dims], likewise
 *   values   [dim][pair of keys], whole tiles of 16 dims
 *   weights  [pair of keys][row], in the place of the scores */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA amx
#define FOVEA_TARGET                                                                                               \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma,f16c,amx-tile,amx-bf16")))
#include "../avx512/tiles.h"
#include "../avx512/vector.h"
#include "amx.h"

#include "../shared/fetch.h"
#include "../shared/state.h"
#include "../shared/terms.h"
#include "../shared/tile.h"
#include "tiles.h"

enum { KEY_WORDS = FOVEA_BLOCK_KEYS / 2 };

FOVEA_KERNEL static void amx_begin(void) {
  tiles_begin();
}

FOVEA_KERNEL static void amx_end(void) {
  _tile_release();
}

static int64_t groups_of(int64_t dim) {
  return (dim + TILE_ITEMS - 1) / TILE_ITEMS;
}

static fovea_operand_sizes amx_sizes(int64_t qk_dim, int64_t v_dim) {
  enum { MOST_DIMS = 4 * TILE }; /* that are multiplied at once, some of them behind the last */
  const int64_t words = groups_of(qk_dim) * TILE_PAIRS;
  return (fovea_operand_sizes){words * ROW_TILE, words * FOVEA_BLOCK_KEYS,
                               (v_dim + MOST_DIMS - 1) / MOST_DIMS * MOST_DIMS * KEY_WORDS};
}

/* ---- Operands ------------------------------------------------------------------------------------------------ */

/* Rounded to bf16, and 0 below 2^-56, as bf16_number() of shared/bf16.h. */
FOVEA_INLINE vec number(vec x) {
  x = vec_round_bf16(vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  return vec_select(vec_less(vec_abs(x), vec_set1(0x1p-56f)), vec_set1(0.0f), x);
}

/* Two numbers of bf16 in a word. */
FOVEA_INLINE vec pair(vec first, vec second) {
  return _mm512_castsi512_ps(
      _mm512_or_si512(_mm512_castps_si512(second), _mm512_srli_epi32(_mm512_castps_si512(first), 16)));
}

FOVEA_INLINE vec load_some(const float *p, int64_t count) {
  return count >= LANES ? vec_load(p) : vec_load_first(p, count > 0 ? (int)count : 0);
}

FOVEA_KERNEL static void amx_load_queries(const fovea_operand_args *args) {
  const int64_t pairs = groups_of(args->dim) * TILE_PAIRS;
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < pairs; i++) {
    const float *rows = (const float *)args->rows + 2 * i * ROW_TILE;
    FOVEA_NO_UNROLL
    for (int row = 0; row < ROW_TILE; row += LANES) {
      const vec first = 2 * i < args->dim ? number(vec_load(rows + row)) : vec_set1(0.0f);
      const vec second = 2 * i + 1 < args->dim ? number(vec_load(rows + ROW_TILE + row)) : vec_set1(0.0f);
      vec_store(args->to + i * ROW_TILE + row, pair(first, second));
    }
  }
}

/* The upper halves of 32 words. */
FOVEA_INLINE __m512i upper_halves(vec low, vec high) {
  const __m512i index = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi16(_mm512_castps_si512(low), index, _mm512_castps_si512(high));
}

/* Up to 32 elements of a row from dim d on as pairs of numbers; 0 behind the last and for keys that are not there. */
FOVEA_INLINE __m512i load_pairs(const fovea_operand_args *args, int64_t key, int64_t d) {
  const int64_t rest = key >= args->first && key < args->end ? args->dim - d : 0;
  const int64_t at = (rest > 0 ? key : args->first) * args->stride + d;
  if (args->bf16) {
    const uint16_t *row = (const uint16_t *)args->rows + at;
    const __mmask32 there = rest >= TILE_ITEMS ? 0xffffffffu : rest > 0 ? (1u << rest) - 1u : 0;
    const __m512i x = _mm512_maskz_loadu_epi16(there, row);
    const __m512i size = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    return _mm512_maskz_mov_epi16(_mm512_cmpge_epu16_mask(size, _mm512_set1_epi16((127 - 56) << 7)), x);
  }
  const float *row = (const float *)args->rows + at;
  const vec low = number(load_some(row, rest));
  return upper_halves(low, rest > LANES ? number(load_some(row + LANES, rest - LANES)) : vec_set1(0.0f));
}

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  const int64_t groups = groups_of(args->dim);
  const int begin = args->first / TILE * TILE, end = (args->end + TILE - 1) / TILE * TILE;
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    float *to = args->to + key * groups * TILE_PAIRS;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < groups; g++)
      _mm512_storeu_si512(to + g * TILE_PAIRS, load_pairs(args, key, g * TILE_ITEMS));
  }
}

/* 0 where a half is NaN or Inf, whose bits are set in `lost`. */
FOVEA_INLINE __m512i without_lost(__m512i x, __mmask32 *lost) {
  const __m512i infinity = _mm512_set1_epi16(0x7f80);
  const __mmask32 of_x = _mm512_cmpge_epu16_mask(_mm512_and_si512(x, _mm512_set1_epi16(0x7fff)), infinity);
  *lost |= of_x;
  return _mm512_maskz_mov_epi16(~of_x, x);
}

/* Sixteen dims of 32 keys: rows[i] has dims of keys 2 i and 2 i + 1 as pairs. */
FOVEA_INLINE void store_value_tile(vec rows[LANES], float *to) {
  vec_transpose(rows);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) vec_store(to + i * KEY_WORDS, rows[i]);
}

/* 32 dims of 32 keys: two tiles, of which the second may have no dims. */
FOVEA_INLINE void load_value_tiles(const fovea_operand_args *args, int64_t dim, int64_t key, float *to,
                                   __mmask32 *lost) {
  const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37,
                                       5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  vec words[2][LANES];
  FOVEA_UNROLL
  for (int i = 0; i < TILE_PAIRS; i++) {
    const __m512i even = without_lost(load_pairs(args, key + 2 * i, dim), lost);
    const __m512i odd = without_lost(load_pairs(args, key + 2 * i + 1, dim), lost);
    words[0][i] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(even, low, odd));
    words[1][i] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(even, high, odd));
  }
  store_value_tile(words[0], to);
  if (dim + TILE < args->dim) store_value_tile(words[1], to + TILE * KEY_WORDS);
}

FOVEA_KERNEL static int amx_load_values(const fovea_operand_args *args) {
  const int begin = args->first / TILE_ITEMS * TILE_ITEMS;
  __mmask32 lost = 0;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += 2 * TILE)
    for (int key = begin; key < args->end; key += TILE_ITEMS)
      load_value_tiles(args, dim, key, args->to + dim * KEY_WORDS + key / 2, &lost);
  return lost == 0;
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* Sums to finish: of keys from `key` on. */
typedef struct score_sums {
  const fovea_score_args *args;
  int key, columns, in_place; /* in_place: the sums are the scores, where they lie */
  tile_home home;
} score_sums;

/* Keys `from` to `end` - 1 of a row of tiles. The vectors take turns, since a maximum takes four cycles. */
FOVEA_INLINE void finish_keys(const score_sums *work, int key, int from, int end, const int columns, const int in_place,
                              const float *sums) {
  const fovea_score_args *args = work->args;
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + args->vectors.first * LANES;
  float *to = args->scores + (int64_t)(key - args->key + from) * ROW_TILE + args->vectors.first * LANES;
  vec maximum[4];
  sums += from * work->home.row;
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) maximum[v] = vec_load(maxima + v * LANES);
  FOVEA_NO_UNROLL
  for (int n = from; n < end; n++, to += ROW_TILE, sums += work->home.row) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      vec s = vec_load(sums + v * work->home.b);
      if (!in_place) {
        s = vec_mul(s, c);
        vec_store(to + v * LANES, s);
      }
      maximum[v] = vec_max(s, maximum[v]);
    }
  }
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) vec_store(maxima + v * LANES, maximum[v]);
}

FOVEA_INLINE void finish_scores(const void *data, int begin, int end) {
  const score_sums *work = data;
  const fovea_score_args *args = work->args;
  for (int i = 0; i < tiles_of_a(work->columns); i++) {
    const int key = work->key + i * TILE, first = args->key - key, last = first + args->key_count;
    const float *sums = work->home.sums + i * work->home.a;
    if (work->in_place)
      finish_keys(work, key, begin, end, work->columns, 1, sums);
    else
      finish_keys(work, key, begin > first ? begin : first, end < last ? end : last, work->columns, 0, sums);
  }
}

/* As score_hide() of shared/score.h. */
FOVEA_NOINLINE void hide_scores(const fovea_score_args *args) {
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const veci from = veci_load(args->seen_from + row), to = veci_load(args->seen_to + row);
    vec maximum = vec_load(args->maxima + row);
    FOVEA_NO_UNROLL
    for (int key = 0; key < args->key_count; key++) {
      float *score = args->scores + (int64_t)key * ROW_TILE + row;
      const vec s = term_hide(vec_load(score), vec_seen(key, from, to));
      vec_store(score, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(args->maxima + row, maximum);
  }
}

/* The vector units finish the sums of one step while AMX multiplies those of the next. With a factor of 1 the sums are
 * the scores, and go to their place at once, if the slice has all keys of the step. */
FOVEA_INLINE void score_columns(const fovea_score_args *args, const int columns) {
  const int64_t groups = groups_of(args->dim), key_words = groups * TILE_PAIRS;
  const int step = TILE * tiles_of_a(columns), end = args->key + args->key_count;
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)(args->queries + args->vectors.first * LANES),
                     .a_row = key_words,
                     .a_tile = key_words * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_PAIRS * ROW_TILE,
                     .groups = (int)groups};
  score_sums before = {.args = args, .key = end, .columns = columns, .home = tiles_in_room(&room, columns)}; /* none */
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, (args->key_count + step - 1) / step);
  FOVEA_NO_UNROLL
  for (int key = args->key / step * step; key < end; key += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)args->keys + key * key_words;
    tiles_multiply(&x, columns, &before.home, finish_scores, &before);
    before.key = key;
    before.in_place = args->c == 1.0f && key >= args->key && key + step <= end;
    before.home = tiles_in_room(&room, columns);
    if (before.in_place)
      before.home = (tile_home){args->scores + (key - args->key) * ROW_TILE + args->vectors.first * LANES, ROW_TILE,
                                TILE * ROW_TILE, TILE};
  }
  tiles_keep(&before.home, columns);
  finish_scores(&before, 0, TILE);
}

FOVEA_NOINLINE void score_4(const fovea_score_args *args) {
  score_columns(args, 4);
}
FOVEA_NOINLINE void score_3(const fovea_score_args *args) {
  score_columns(args, 3);
}
FOVEA_NOINLINE void score_2(const fovea_score_args *args) {
  score_columns(args, 2);
}
FOVEA_NOINLINE void score_1(const fovea_score_args *args) {
  score_columns(args, 1);
}

FOVEA_KERNEL static void amx_score(const fovea_score_args *args) {
  static void (*const of[])(const fovea_score_args *) = {score_1, score_2, score_3, score_4};
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  if (args->seen_from) all.maxima = not_wanted;
  of[args->vectors.count - 1](&all);
  if (args->seen_from) hide_scores(args);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* E(x), 0 below -56. */
FOVEA_INLINE vec weight_of(vec x) {
  const vec fraction = vec_fraction(x), whole = vec_sub(x, fraction);
  vec p = vec_fma(vec_set1(0x1.c2a392p-5f), fraction, vec_set1(0x1.f00c5ap-3f));
  p = vec_fma(p, fraction, vec_set1(0x1.62f5f6p-1f));
  p = vec_fma(p, fraction, vec_set1(1.0f));
  return vec_scalef_unless_less(x, vec_set1(-56.0f), p, whole);
}

/* The weights of two keys as pairs: VCVTNE2PS2BF16 gives the halves of one after those of the other. */
FOVEA_INLINE vec weight_pair(vec first, vec second) {
  const __m512i index = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(second, first);
  return _mm512_castsi512_ps(_mm512_permutexvar_epi16(index, halves));
}

/* Weights of sixteen keys of one vector; `seen` has a bit for each. A pair lies in front of the scores that it is made
 * of, or in their place. */
FOVEA_INLINE void weigh_keys(const float *scores, vec factor, vec reference, uint32_t seen, float *to, vec *sums) {
  FOVEA_UNROLL
  for (int key = 0; key < FOVEA_WEIGHT_SUMS; key += 2) {
    vec p[2];
    FOVEA_UNROLL
    for (int i = 0; i < 2; i++) {
      p[i] = weight_of(vec_sub(vec_mul(vec_load(scores + (key + i) * ROW_TILE), factor), reference));
      p[i] = _mm512_maskz_mov_ps((__mmask16) - (int)(seen >> (key + i) & 1), p[i]);
      sums[key + i] = vec_add(sums[key + i], p[i]);
    }
    vec_store(to + key / 2 * ROW_TILE, weight_pair(p[0], p[1]));
  }
}

/* Pairs of weights of one vector, 0 for keys that are not from begin to end - 1. Returns their sum: adding 0 changes no
 * sum of weights. */
FOVEA_NOINLINE vec weigh_vector(float *scores, vec factor, vec reference, int begin, int end) {
  vec sums[FOVEA_WEIGHT_SUMS];
  FOVEA_UNROLL
  for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) sums[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += FOVEA_WEIGHT_SUMS) {
    float *from = scores + key * ROW_TILE, *to = scores + key / 2 * ROW_TILE;
    if (key >= begin && key + FOVEA_WEIGHT_SUMS <= end) {
      weigh_keys(from, factor, reference, 0xffff, to, sums);
      continue;
    }
    uint32_t seen = 0;
    for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) seen |= (uint32_t)(key + i >= begin && key + i < end) << i;
    weigh_keys(from, factor, reference, seen, to, sums);
  }
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++) sums[i] = vec_add(sums[i], sums[i + 8]);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) sums[i] = vec_add(sums[i], sums[i + 4]);
  return vec_add(vec_add(sums[0], sums[2]), vec_add(sums[1], sums[3]));
}

FOVEA_KERNEL static int amx_softmax(const fovea_softmax_args *args) {
  vecmask none = 0;
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const vec factor = vec_set1(args->factor), scaled = vec_mul(vec_load(args->maxima + row), factor);
    const vec block_max = vec_add(scaled, vec_set1(0.0f)); /* -0 becomes +0 */
    const vec block_sum = weigh_vector(args->scores + row, factor, state_reference(block_max),
                                       args->key_begin[vector], args->key_end[vector]);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

static float amx_weight(const float *weights, int key, int row) {
  union {
    float number;
    uint32_t bits;
  } word = {weights[key / 2 * ROW_TILE + row]};
  word.bits = key % 2 ? word.bits & 0xffff0000u : word.bits << 16;
  return word.number;
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* Sums to finish: of dims from `dim` on. */
typedef struct value_sums {
  const fovea_value_args *args;
  int64_t dim;
  int columns;
  tile_home home;
} value_sums;

FOVEA_INLINE void finish_dims(const fovea_value_args *args, int64_t dim, int64_t count, const int columns,
                              const float *sums) {
  const float *old_parts = args->old_part + args->vectors.first * LANES;
  const float *new_parts = args->new_part + args->vectors.first * LANES;
  float *to = args->output + dim * ROW_TILE + args->vectors.first * LANES;
  vec old_part[4], new_part[4];
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++)
    old_part[v] = vec_load(old_parts + v * LANES), new_part[v] = vec_load(new_parts + v * LANES);
  if (!(args->flags & FOVEA_VALUE_MERGE)) {
    FOVEA_NO_UNROLL
    for (; count > 0; count--, to += ROW_TILE, sums += TILE) {
      FOVEA_UNROLL
      for (int v = 0; v < columns; v++) vec_store(to + v * LANES, vec_load(sums + v * TILE * TILE));
    }
    return;
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count--, to += ROW_TILE, sums += TILE) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      const vec merged = state_join(vec_load(to + v * LANES), old_part[v], vec_load(sums + v * TILE * TILE), new_part[v]);
      vec_store(to + v * LANES, merged);
    }
  }
}

FOVEA_INLINE void finish_values(const void *data, int begin, int end) {
  const value_sums *work = data;
  for (int i = 0; i < tiles_of_a(work->columns); i++) {
    const int64_t dim = work->dim + i * TILE + begin, rest = work->args->dim - dim, count = end - begin;
    finish_dims(work->args, dim, rest < count ? rest : count, work->columns,
                work->home.sums + i * work->home.a + begin * TILE);
  }
}

FOVEA_INLINE void value_columns(const fovea_value_args *args, const int columns) {
  const int64_t begin = args->key / TILE_ITEMS, step = TILE * tiles_of_a(columns);
  const float *weights = args->weights + begin * TILE_PAIRS * ROW_TILE + args->vectors.first * LANES;
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)weights,
                     .a_row = KEY_WORDS,
                     .a_tile = KEY_WORDS * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_PAIRS * ROW_TILE,
                     .groups = (int)((args->key + args->key_count - 1) / TILE_ITEMS + 1 - begin)};
  value_sums before = {.args = args, .dim = args->dim, .columns = columns, .home = tiles_in_room(&room, columns)}; /* none */
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, (args->dim + step - 1) / step);
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)(const void *)args->values + dim * KEY_WORDS + begin * TILE_PAIRS;
    tiles_multiply(&x, columns, &before.home, finish_values, &before);
    before.dim = dim;
  }
  tiles_keep(&before.home, columns);
  finish_values(&before, 0, TILE);
}

FOVEA_NOINLINE void value_4(const fovea_value_args *args) {
  value_columns(args, 4);
}
FOVEA_NOINLINE void value_3(const fovea_value_args *args) {
  value_columns(args, 3);
}
FOVEA_NOINLINE void value_2(const fovea_value_args *args) {
  value_columns(args, 2);
}
FOVEA_NOINLINE void value_1(const fovea_value_args *args) {
  value_columns(args, 1);
}

FOVEA_KERNEL static void amx_value(const fovea_value_args *args) {
  static void (*const of[])(const fovea_value_args *) = {value_1, value_2, value_3, value_4};
  of[args->vectors.count - 1](args);
}

const fovea_arithmetic fovea_bf16_amx = {
    .name = "AMX",
    .begin = amx_begin,
    .end = amx_end,
    .sizes = amx_sizes,
    .load_queries = amx_load_queries,
    .load_keys = amx_load_keys,
    .load_values = amx_load_values,
    .score = amx_score,
    .softmax = amx_softmax,
    .weight = amx_weight,
    .value = amx_value,
};
#endif
