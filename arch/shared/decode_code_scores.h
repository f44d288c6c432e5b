/* Scores of quantised formats: keys lie in the lanes, sixteen bytes of each as four vectors of words. The chains
 * are as in decode_score.h. Part of decode_codes.h. */

/* Sixteen bytes of LANES keys: words, or sixteen numbers of each key as f16. Vectors that lie in two lines of the
 * cache would be loaded long after they were stored. */
typedef union codes_copies {
  _Alignas(64) float words[4 * LANES];
  _Alignas(64) uint16_t halves[16 * LANES];
} codes_copies;

/* Words of LANES keys from byte `at` of their codes on: where they lie side by side, in panels, or copied. They are
 * *step bytes apart. */
FOVEA_INLINE const char *codes_find_words(const void *const *keys, int64_t at, int panels, codes_copies *copies,
                                          int64_t *step) {
  vec k[4];
  if (panels) {
    *step = 4 * FOVEA_PANEL_ROWS;
    return (const char *)keys[0] + at * FOVEA_PANEL_ROWS;
  }
  *step = 4 * LANES;
  vec_load_words(keys, at, k);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) vec_store(copies->words + i * LANES, k[i]);
  return (const char *)copies->words;
}

/* The same as f16, four dims from word to word. */
FOVEA_INLINE const char *codes_find_halves(const void *const *keys, int64_t at, int panels, fovea_code code,
                                           int folded, codes_copies *copies, int64_t *step) {
  vec k[4];
  *step = 4 * LANES * (int64_t)sizeof(uint16_t);
  if (panels) {
    const char *panel = (const char *)keys[0] + at * FOVEA_PANEL_ROWS;
    FOVEA_UNROLL
    for (int i = 0; i < 4; i++) k[i] = vec_load_word(panel + i * 4 * FOVEA_PANEL_ROWS);
  } else {
    vec_load_words(keys, at, k);
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    if (code == FOVEA_CODE_E5M2)
      vec_word_halves_e5m2(copies->halves + i * 4 * LANES, k[i]);
    else
      vec_word_halves_e4m3(copies->halves + i * 4 * LANES, k[i]);
  }
  if (!folded) codes_unfold(copies->halves, 16 * LANES);
  return (const char *)copies->halves;
}

/* The scales and zeros of a vector of keys. */
FOVEA_INLINE codes_numbers codes_of_keys(const codes_block *block, int key, int64_t group, float bias) {
  const int64_t at = (group - block->first) * block->stride + key;
  return (codes_numbers){vec_load(block->scales + at),
                         block->zeroed ? vec_load(block->zeros + at) : vec_set1(bias)};
}

/* Multiplies four dims of keys by the same dims of the queries: dims in the order 1, 0, 3, 2. */
FOVEA_INLINE void codes_multiply(const float *queries, int64_t stride, const int rows, const int vectors,
                                 vec x[][4], vec sum[][8]) {
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    vec4 q = vec4_load(queries + r * stride);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][1], q, 1, sum[v][r]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][0], q, 0, sum[v][r]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][3], q, 3, sum[v][r]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][2], q, 2, sum[v][r]);
  }
}

/* The same for a chunk, word by word. */
FOVEA_INLINE void codes_multiply_chunk(const float *queries, int64_t stride, const int rows, const int vectors,
                                       const fovea_code code, int steps, vec table, const char *const words[2],
                                       int64_t step, const codes_numbers *numbers, int folded, vec sum[][8]) {
  FOVEA_UNROLL
  for (int pass = 0; pass < 2; pass++) {
    if (pass >= CODES_PASSES(code)) continue;
    FOVEA_NO_UNROLL
    for (int64_t at = 0; at < 4 * step; at += step, queries += CODES_OF_WORD(code)) {
      FOVEA_UNROLL
      for (int first = 0; first < 8; first += 4) {
        vec x[2][4];
        if (first >= CODES_OF_WORD(code)) continue;
        FOVEA_UNROLL
        for (int v = 0; v < vectors; v++) {
          const vec word = vec_load_word(words[v] + at);
          FOVEA_UNROLL
          for (int i = 0; i < 4; i++) {
            if (CODES_AS_HALVES(code))
              x[v][i] = vec_load_f16((const uint16_t *)(const void *)(words[v] + at) + i * LANES);
            else
              x[v][i] = codes_of_word(word, first + i, pass, code, table);
            if (code == FOVEA_CODE_S8 && !folded) x[v][i] = vec_mul(x[v][i], vec_set1(0x1p-24f));
            x[v][i] = codes_apply(x[v][i], &numbers[v], code, steps);
          }
        }
        codes_multiply(queries + first, stride, rows, vectors, x, sum);
      }
    }
  }
}

/* Prefetches a chunk of the next block's panels. */
FOVEA_INLINE void codes_fetch_panel(const void *next, int64_t at) {
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) __builtin_prefetch((const char *)next + (at + 4 * i) * FOVEA_PANEL_ROWS, 0, 2);
}

/* The chains of one piece of the dims for `vectors` vectors of keys. */
FOVEA_INLINE void codes_chain(const fovea_decode_score_args *args, int row, const int rows, const int *keys,
                              const int vectors, int64_t dim, int64_t end, const fovea_code code,
                              const codes_block *block, int block_key, decode_fetch *fetch, vec sum[][8]) {
  const fovea_codes *codes = args->coded.codes;
  const int steps = codes_steps(codes, code);
  const vec table = codes_table(codes, code);
  const float *queries = args->queries + row * args->query_stride;
  codes_numbers numbers[2];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) sum[v][r] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (int64_t group = dim / codes->group, in_group = dim % codes->group; dim < end;) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) numbers[v] = codes_of_keys(block, keys[v] - block_key, group, codes->bias);
    const int64_t stop = codes->group - in_group < end - dim ? dim + codes->group - in_group : end;
    int64_t at = group * codes->group_step + in_group * 16 / CODES_CHUNK(code);
    FOVEA_NO_UNROLL
    for (; dim < stop; dim += CODES_CHUNK(code), at += 16) {
      if (!args->panels) decode_fetch_rows(fetch, codes->row_bytes);
      codes_copies copies[2];
      const char *words[2];
      int64_t step = 0;
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        if (args->panels) codes_fetch_panel(args->prefetch[keys[v]], at);
        if (CODES_AS_HALVES(code))
          words[v] = codes_find_halves(args->keys + keys[v], at, args->panels, codes->code, block->folded,
                                       &copies[v], &step);
        else
          words[v] = codes_find_words(args->keys + keys[v], at, args->panels, &copies[v], &step);
      }
      codes_multiply_chunk(queries + dim, args->query_stride, rows, vectors, code, steps, table, words, step,
                           numbers, block->folded, sum);
    }
    group++;
    in_group = 0;
  }
}

/* Scores of some rows and all keys. */
FOVEA_INLINE void codes_score_rows(const fovea_decode_score_args *args, int row, const int rows, const int vectors,
                                   const fovea_code code) {
  const int once = args->dim <= FOVEA_DOT_PIECE; /* one piece: the numbers of all keys are read at once */
  codes_block block;
  if (once) codes_read_folded(&args->coded, 0, args->key_count, 0, args->dim, 1, &block);
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += vectors * LANES) {
    const int count = vectors > 1 && key + LANES < args->key_count ? 2 : 1; /* vectors of keys that there are */
    const int keys[2] = {key, count == 2 ? key + LANES : key};
    decode_fetch fetch = decode_plan_fetch(args, row, rows, count * LANES, CODES_CHUNK(code));
    decode_fetch_from(&fetch, args, key);
    FOVEA_NO_UNROLL
    for (int64_t dim = 0, end; dim < args->dim; dim = end) {
      vec sum[2][8];
      end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
      if (!once) codes_read_folded(&args->coded, key, count * LANES, dim, end, 1, &block);
      codes_chain(args, row, rows, keys, vectors, dim, end, code, &block, once ? 0 : key, &fetch, sum);
      float numbers[2][4 * LANES];
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        FOVEA_UNROLL
        for (int r = 0; r < rows; r++) vec_store(numbers[v] + r * LANES, sum[v][r]);
      }
      FOVEA_NO_UNROLL
      for (int v = 0; v < count; v++)
        decode_keep_numbers(args, row, rows, keys[v], LANES, dim == 0, end == args->dim, numbers[v]);
    }
  }
}
