/* Decoding in int8 (docs/numerics.md, section 16): keys lie in the lanes of scores, dims in those of values. Rows
 * of K and V are codes, 64 to a vector, read where they lie. Part of avx512_vnni.c, after shared/int8.h. */
#ifndef FOVEA_ARCH_AVX512_VNNI_DECODE_H
#define FOVEA_ARCH_AVX512_VNNI_DECODE_H

#include "../kernels.h"

enum { DECODE_CODES = 64, DECODE_KEYS = 16 };

/* The codes of dims d to d + 63 that a row has. */
FOVEA_INLINE __mmask64 decode_mask(int64_t dim, int64_t d) {
  const int64_t rest = dim - d;
  return rest >= DECODE_CODES ? ~UINT64_C(0) : (UINT64_C(1) << rest) - 1;
}

/* ---- Queries ------------------------------------------------------------------------------------------------- */

/* Codes + 128; behind the last dim, where keys have none, whatever comes. */
FOVEA_KERNEL static void decode_load_queries(const fovea_query_codes_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row++) {
    const fovea_operand_args one = {.rows = args->rows + row * args->stride, .dim = args->dim, .end = 1};
    float scales[INT8_TOGETHER], factors[INT8_TOGETHER];
    float *to = args->codes + row * args->stride;
    int8_measure(&one, 0, scales, factors);
    args->scales[row] = scales[0];
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const vec shift = vec_set1(INT8_SHIFT + 128);
      const vec x = int8_elements(&one, 0, d);
      int8_store(to, d, scales[0] != scales[0] ? shift : int8_code(x, vec_set1(factors[0]), shift));
    }
  }
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* The sums of the lanes of sixteen vectors. */
FOVEA_INLINE __m512i decode_sums_of(const __m512i x[DECODE_KEYS]) {
  __m512i a[8], b[4], c[2];
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++)
    a[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]),
                            _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]));
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++)
    b[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]),
                            _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++)
    c[i] = _mm512_add_epi32(_mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0x88),
                            _mm512_shuffle_i32x4(b[2 * i], b[2 * i + 1], 0xdd));
  return _mm512_add_epi32(_mm512_shuffle_i32x4(c[0], c[1], 0x88), _mm512_shuffle_i32x4(c[0], c[1], 0xdd));
}

/* Sums of products of unsigned codes of a query and the codes of sixteen keys. Without a query, of 128 in its
 * place: what codes + 128 are too much. `vectors`: of a row, if it is whole vectors and few; else 0. */
FOVEA_INLINE __m512i decode_products(const fovea_decode_score_args *args, const int vectors,
                                     const void *const *keys, const uint8_t *query) {
  __m512i sum[DECODE_KEYS], q[4];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++)
    q[v] = query ? _mm512_loadu_si512(query + v * DECODE_CODES) : _mm512_set1_epi8((char)0x80);
  FOVEA_UNROLL
  for (int i = 0; i < DECODE_KEYS; i++) {
    const int8_t *key = keys[i];
    sum[i] = _mm512_setzero_si512();
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++)
      sum[i] = _mm512_dpbusd_epi32(sum[i], q[v], _mm512_loadu_si512(key + v * DECODE_CODES));
  }
  if (vectors) return decode_sums_of(sum);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += DECODE_CODES) {
    const __mmask64 there = decode_mask(args->dim, d);
    q[0] = query ? _mm512_loadu_si512(query + d) : _mm512_set1_epi8((char)0x80);
    FOVEA_UNROLL
    for (int i = 0; i < DECODE_KEYS; i++)
      sum[i] = _mm512_dpbusd_epi32(sum[i], q[0], _mm512_maskz_loadu_epi8(there, (const int8_t *)keys[i] + d));
  }
  return decode_sums_of(sum);
}

FOVEA_INLINE void decode_score_vector(const fovea_decode_score_args *args, const int vectors, int key) {
  const void *const *keys = args->keys + key;
  const __m512i offset = decode_products(args, vectors, keys, NULL);
  const vec key_scales = vec_load(args->key_scales + key);
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row++) {
    const uint8_t *query = (const uint8_t *)(const void *)(args->queries + row * args->query_stride);
    const vec sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(decode_products(args, vectors, keys, query), offset));
    const vec wanted = vec_set1(args->row_scales ? args->row_scales[row] : args->c);
    const vec c = vec_mul(vec_set1(args->query_scales[row]), wanted);
    vec_store(args->scores + row * FOVEA_BLOCK_KEYS + key, vec_mul(vec_mul(sum, key_scales), c));
  }
}

FOVEA_NOINLINE void decode_score_1(const fovea_decode_score_args *args, int key) {
  decode_score_vector(args, 1, key);
}
FOVEA_NOINLINE void decode_score_2(const fovea_decode_score_args *args, int key) {
  decode_score_vector(args, 2, key);
}
FOVEA_NOINLINE void decode_score_any(const fovea_decode_score_args *args, int key) {
  decode_score_vector(args, 0, key);
}

/* Prefetches rows of the next block. */
FOVEA_INLINE void decode_fetch(const void *const *rows, int count, int64_t dim) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i++)
    for (int64_t d = 0; d < dim; d += 64) __builtin_prefetch((const char *)rows[i] + d, 0, 2);
}

FOVEA_KERNEL static void decode_score(const fovea_decode_score_args *args) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += DECODE_KEYS) {
    if (args->prefetch != args->keys) decode_fetch(args->prefetch + key, DECODE_KEYS, args->dim);
    (args->dim == DECODE_CODES       ? decode_score_1
     : args->dim == 2 * DECODE_CODES ? decode_score_2
                                     : decode_score_any)(args, key);
  }
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* Scores of keys whose values are not finite become NaN where the key is seen. */
FOVEA_NOINLINE void decode_lose_scores(float *scores, const float *marks, int begin, int end) {
  const vec none = vec_set1(-INFINITY), nan = vec_set1(__builtin_nanf("")), zero = vec_set1(0.0f);
  for (int key = begin; key < end; key += LANES) {
    const vec s = vec_load(scores + key);
    const vecmask lost = vecmask_and(vec_less(zero, vec_load(marks + key)), vecmask_not(vec_equal(s, none)));
    vec_store(scores + key, vec_select(lost, nan, s));
  }
}

/* Weights of a row as bytes in place of its scores, 0 for all other keys of the block. Sets its maximum. Returns
 * the sum of the unrounded weights. */
FOVEA_NOINLINE float decode_weigh_row(float *scores, const float *logs, int begin, int end, float *block_max) {
  const float *parts = logs + FOVEA_BLOCK_KEYS;
  uint8_t bytes[FOVEA_BLOCK_KEYS] = {0};
  vec most = vec_set1(-INFINITY), sum = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key += LANES)
    most = vec_max(vec_add(vec_load(scores + key), vec_load(logs + key)), most);
  *block_max = (_mm512_reduce_max_ps(most) + 0.0f) - INT8_A; /* -0 becomes +0 */
  const vec reference = state_reference(vec_set1(*block_max));
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key += LANES) {
    const vec s = vec_add(vec_load(scores + key), vec_load(logs + key));
    const vec e = mode_exp2(vec_sub(s, reference), -126.0f);
    sum = vec_fma(e, vec_load(parts + key), sum);
    _mm_storeu_si128((__m128i *)(void *)(bytes + key),
                     _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(vec_min(e, vec_set1(255.0f)))));
  }
  memcpy(scores, bytes, sizeof bytes);
  float lanes[LANES];
  vec_store(lanes, sum);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

FOVEA_KERNEL static int decode_softmax(const fovea_decode_softmax_args *args) {
  const float *marks = args->value_scales + 2 * FOVEA_BLOCK_KEYS;
  int none = 0;
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row++) {
    float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
    if (marks[FOVEA_BLOCK_KEYS] != 0.0f) decode_lose_scores(scores, marks, args->key_begin, args->key_end);
    args->block_sum[row] =
        decode_weigh_row(scores, args->value_scales, args->key_begin, args->key_end, &args->block_max[row]);
    none |= args->block_max[row] == -INFINITY;
  }
  const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
  state_advance(&running, 0, args->first, vec_load(args->block_max), vec_load(args->block_sum));
  return none;
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* Four keys as four vectors of words: vector n has dims 16 i + 4 n + j in lane 4 i + j. */
FOVEA_INLINE void decode_words(const void *const *rows, int64_t d, __mmask64 there, const int whole, __m512i z[4]) {
  __m512i k[4];
  FOVEA_UNROLL
  for (int j = 0; j < 4; j++) {
    const int8_t *row = (const int8_t *)rows[j] + d;
    k[j] = whole ? _mm512_loadu_si512(row) : _mm512_maskz_loadu_epi8(there, row);
  }
  const __m512i low[2] = {_mm512_unpacklo_epi8(k[0], k[1]), _mm512_unpacklo_epi8(k[2], k[3])};
  const __m512i high[2] = {_mm512_unpackhi_epi8(k[0], k[1]), _mm512_unpackhi_epi8(k[2], k[3])};
  z[0] = _mm512_unpacklo_epi16(low[0], low[1]);
  z[1] = _mm512_unpackhi_epi16(low[0], low[1]);
  z[2] = _mm512_unpacklo_epi16(high[0], high[1]);
  z[3] = _mm512_unpackhi_epi16(high[0], high[1]);
}

/* Merges the sums of a row for dims d to d + 63. */
FOVEA_INLINE void decode_finish(const fovea_decode_value_args *args, int row, int64_t d, const __m512i sum[4]) {
  __m512i b[4], in_order[4];
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++) {
    b[i] = _mm512_shuffle_i32x4(sum[2 * i], sum[2 * i + 1], 0x88);     /* quarters 0 and 2 of both */
    b[2 + i] = _mm512_shuffle_i32x4(sum[2 * i], sum[2 * i + 1], 0xdd); /* quarters 1 and 3 */
  }
  in_order[0] = _mm512_shuffle_i32x4(b[0], b[1], 0x88);
  in_order[1] = _mm512_shuffle_i32x4(b[2], b[3], 0x88);
  in_order[2] = _mm512_shuffle_i32x4(b[0], b[1], 0xdd);
  in_order[3] = _mm512_shuffle_i32x4(b[2], b[3], 0xdd);
  const vec total = vec_set1(args->block_sum[row]), poison = vec_sub(total, total); /* 0 or NaN */
  const vec old_part = vec_set1(args->old_part[row]), new_part = vec_set1(args->new_part[row]);
  float *to = args->output + row * args->output_stride + d;
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++, to += LANES) {
    if (d + i * LANES >= args->dim) continue;
    const vec sums = vec_add(_mm512_cvtepi32_ps(in_order[i]), poison);
    vec_store(to, args->flags & FOVEA_VALUE_MERGE ? state_join(vec_load(to), old_part, sums, new_part) : sums);
  }
}

FOVEA_INLINE void decode_value_rows(const fovea_decode_value_args *args, const int rows, const int whole, int row,
                                    int64_t d) {
  __m512i sum[4][4];
  const __mmask64 there = decode_mask(args->dim, d);
  const int fetches = row == 0 && d == 0 && args->prefetch != args->values;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int n = 0; n < 4; n++) sum[r][n] = _mm512_setzero_si512();
  }
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += 4) {
    __m512i z[4];
    if (fetches) decode_fetch(args->prefetch + key, 4, args->dim);
    decode_words(args->values + key, d, there, whole, z);
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      uint32_t word;
      memcpy(&word, (const uint8_t *)(const void *)(args->weights + (row + r) * FOVEA_BLOCK_KEYS) + key,
             sizeof word);
      const __m512i u = _mm512_set1_epi32((int)word);
      FOVEA_UNROLL
      for (int n = 0; n < 4; n++) sum[r][n] = _mm512_dpbusd_epi32(sum[r][n], u, z[n]);
    }
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) decode_finish(args, row + r, d, sum[r]);
}

FOVEA_NOINLINE void decode_value_4(const fovea_decode_value_args *args, int row, int64_t d) {
  decode_value_rows(args, 4, 1, row, d);
}
FOVEA_NOINLINE void decode_value_1(const fovea_decode_value_args *args, int row, int64_t d) {
  decode_value_rows(args, 1, 1, row, d);
}
FOVEA_NOINLINE void decode_value_part(const fovea_decode_value_args *args, int row, int64_t d) {
  decode_value_rows(args, 1, 0, row, d);
}

/* `weights` are the block's bytes from the first key on, `values` its rows, of whole words of keys. */
FOVEA_KERNEL static void decode_value(const fovea_decode_value_args *args) {
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += DECODE_CODES) {
    const int whole = args->dim - d >= DECODE_CODES;
    for (int row = 0; row < args->row_count;) {
      const int rows = whole && row + 4 <= args->row_count ? 4 : 1;
      (!whole ? decode_value_part : rows == 4 ? decode_value_4 : decode_value_1)(args, row, d);
      row += rows;
    }
  }
}

FOVEA_KERNEL static void decode_load_scales(float *scales) {
  int8_load_scales(scales);
}

static const fovea_decoding decoding = {
    .rows = 8,
    .load_queries = decode_load_queries,
    .load_scales = decode_load_scales,
    .score = decode_score,
    .softmax = decode_softmax,
    .value = decode_value,
};

#endif
