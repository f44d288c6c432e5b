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
    const float *rows = args->rows + 2 * i * ROW_TILE;
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

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  const int64_t groups = groups_of(args->dim);
  const int begin = args->first / TILE * TILE, end = (args->end + TILE - 1) / TILE * TILE;
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    const int there = key >= args->first && key < args->end;
    const float *row = args->rows + (there ? key : args->first) * args->stride;
    float *to = args->to + key * groups * TILE_PAIRS;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < groups * TILE_ITEMS; d += TILE_ITEMS, to += TILE_PAIRS) {
      const int64_t rest = there ? args->dim - d : 0;
      const vec low = number(load_some(row + d, rest));
      const vec high = rest > LANES ? number(load_some(row + d + LANES, rest - LANES)) : vec_set1(0.0f);
      _mm512_storeu_si512(to, upper_halves(low, high));
    }
  }
}

/* Sixteen dims of 32 keys, a tile of values. */
FOVEA_INLINE __mmask16 load_value_tile(const fovea_operand_args *args, int64_t dim, int key, float *to) {
  const vec zero = vec_set1(0.0f), infinity = vec_set1(INFINITY);
  __mmask16 lost = 0;
  vec words[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < TILE_PAIRS; i++) {
    vec x[2];
    FOVEA_UNROLL
    for (int j = 0; j < 2; j++) {
      const int k = key + 2 * i + j, there = k >= args->first && k < args->end;
      const float *row = args->rows + (there ? k : args->first) * args->stride + dim;
      x[j] = number(load_some(row, there ? args->dim - dim : 0));
      const __mmask16 finite = vec_less(vec_abs(x[j]), infinity);
      lost |= (__mmask16)~finite;
      x[j] = vec_select(finite, x[j], zero);
    }
    words[i] = pair(x[0], x[1]);
  }
  vec_transpose(words);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) vec_store(to + i * KEY_WORDS, words[i]);
  return lost;
}

FOVEA_KERNEL static int amx_load_values(const fovea_operand_args *args) {
  const int begin = args->first / TILE_ITEMS * TILE_ITEMS;
  __mmask16 lost = 0;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += TILE)
    for (int key = begin; key < args->end; key += TILE_ITEMS)
      lost |= load_value_tile(args, dim, key, args->to + dim * KEY_WORDS + key / 2);
  return lost == 0;
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* Keys `from` to `end` - 1 of a tile of sums. */
FOVEA_INLINE void finish_scores(const fovea_score_args *args, int key, int from, int end, int vector,
                                const float (*sums)[TILE]) {
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + vector * LANES;
  float *to = args->scores + (int64_t)(key - args->key) * ROW_TILE + vector * LANES;
  vec maximum = vec_load(maxima);
  FOVEA_NO_UNROLL
  for (int n = from; n < end; n++) {
    const vec s = vec_mul(vec_load(sums[n]), c);
    vec_store(to + n * ROW_TILE, s);
    maximum = vec_max(s, maximum);
  }
  vec_store(maxima, maximum);
}

/* All tiles of sums that tiles_multiply() has made of keys from `key` on. */
FOVEA_INLINE void finish_score_tiles(const fovea_score_args *args, int key, const tile_sums *sums) {
  const int columns = args->vectors.count, last = args->key + args->key_count;
  for (int i = 0; i < tiles_of_a(columns); i++) {
    const int first = key + i * TILE, end = last - first < TILE ? last - first : TILE;
    for (int j = 0; j < columns; j++)
      finish_scores(args, first, args->key > first ? args->key - first : 0, end, args->vectors.first + j,
                    sums->sum[i * columns + j]);
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

/* The vector units finish the sums of one step while AMX multiplies those of the next. */
FOVEA_KERNEL static void amx_score(const fovea_score_args *args) {
  const int64_t groups = groups_of(args->dim), key_words = groups * TILE_PAIRS;
  const int step = TILE * tiles_of_a(args->vectors.count), end = args->key + args->key_count;
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  tile_sums sums[2];
  tile_operands x = {.b = (const uint32_t *)(const void *)(args->queries + args->vectors.first * LANES),
                     .a_row = key_words,
                     .a_tile = key_words * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_PAIRS * ROW_TILE,
                     .groups = (int)groups};
  int before = -1, turn = 0;
  if (args->seen_from) all.maxima = not_wanted;
  FOVEA_NO_UNROLL
  for (int key = args->key / step * step; key < end; key += step, turn ^= 1) {
    x.a = (const uint32_t *)args->keys + key * key_words;
    tiles_multiply(&x, args->vectors.count);
    if (before >= 0) finish_score_tiles(&all, before, &sums[turn ^ 1]);
    tiles_keep(&sums[turn]);
    before = key;
  }
  finish_score_tiles(&all, before, &sums[turn ^ 1]);
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
FOVEA_INLINE void weigh_keys(const float *scores, vec reference, uint32_t seen, float *to, vec *sums) {
  FOVEA_UNROLL
  for (int key = 0; key < FOVEA_WEIGHT_SUMS; key += 2) {
    vec p[2];
    FOVEA_UNROLL
    for (int i = 0; i < 2; i++) {
      p[i] = weight_of(vec_sub(vec_load(scores + (key + i) * ROW_TILE), reference));
      p[i] = _mm512_maskz_mov_ps((__mmask16) - (int)(seen >> (key + i) & 1), p[i]);
      sums[key + i] = vec_add(sums[key + i], p[i]);
    }
    vec_store(to + key / 2 * ROW_TILE, weight_pair(p[0], p[1]));
  }
}

/* Pairs of weights of one vector, 0 for keys that are not from begin to end - 1. Returns their sum: adding 0 changes no
 * sum of weights. */
FOVEA_NOINLINE vec weigh_vector(float *scores, vec reference, int begin, int end) {
  vec sums[FOVEA_WEIGHT_SUMS];
  FOVEA_UNROLL
  for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) sums[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += FOVEA_WEIGHT_SUMS) {
    float *from = scores + key * ROW_TILE, *to = scores + key / 2 * ROW_TILE;
    if (key >= begin && key + FOVEA_WEIGHT_SUMS <= end) {
      weigh_keys(from, reference, 0xffff, to, sums);
      continue;
    }
    uint32_t seen = 0;
    for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) seen |= (uint32_t)(key + i >= begin && key + i < end) << i;
    weigh_keys(from, reference, seen, to, sums);
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
    const vec block_max = vec_add(vec_load(args->maxima + row), vec_set1(0.0f)); /* -0 becomes +0 */
    const vec block_sum = weigh_vector(args->scores + row, state_reference(block_max), args->key_begin[vector],
                                       args->key_end[vector]);
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

FOVEA_INLINE void finish_values(const fovea_value_args *args, int64_t dim, int vector, const float (*sums)[TILE]) {
  const int row = vector * LANES, dims = args->dim - dim < TILE ? (int)(args->dim - dim) : TILE;
  const vec old_part = vec_load(args->old_part + row), new_part = vec_load(args->new_part + row);
  float *to = args->output + dim * ROW_TILE + row;
  if (args->flags & FOVEA_VALUE_MERGE) {
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d++, to += ROW_TILE)
      vec_store(to, state_join(vec_load(to), old_part, vec_load(sums[d]), new_part));
  } else {
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d++, to += ROW_TILE) vec_store(to, vec_load(sums[d]));
  }
}

FOVEA_INLINE void finish_value_tiles(const fovea_value_args *args, int64_t dim, const tile_sums *sums) {
  const int columns = args->vectors.count;
  for (int i = 0; i < tiles_of_a(columns); i++)
    for (int j = 0; j < columns && dim + i * TILE < args->dim; j++)
      finish_values(args, dim + i * TILE, args->vectors.first + j, sums->sum[i * columns + j]);
}

FOVEA_KERNEL static void amx_value(const fovea_value_args *args) {
  const int64_t begin = args->key / TILE_ITEMS;
  const float *weights = args->weights + begin * TILE_PAIRS * ROW_TILE + args->vectors.first * LANES;
  const int64_t step = TILE * tiles_of_a(args->vectors.count);
  tile_sums sums[2];
  tile_operands x = {.b = (const uint32_t *)(const void *)weights,
                     .a_row = KEY_WORDS,
                     .a_tile = KEY_WORDS * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_PAIRS * ROW_TILE,
                     .groups = (int)((args->key + args->key_count - 1) / TILE_ITEMS + 1 - begin)};
  int64_t before = -1;
  int turn = 0;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += step, turn ^= 1) {
    x.a = (const uint32_t *)(const void *)args->values + dim * KEY_WORDS + begin * TILE_PAIRS;
    tiles_multiply(&x, args->vectors.count);
    if (before >= 0) finish_value_tiles(args, before, &sums[turn ^ 1]);
    tiles_keep(&sums[turn]);
    before = dim;
  }
  finish_value_tiles(args, before, &sums[turn ^ 1]);
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
