/* Weights times values of quantised formats, whose dims lie in the lanes. The chains are as in decode_value.h. Part
 * of decode_codes.h. */

/* Numbers of values as f16: some keys, and vectors of dims from the bytes at[vector] on. */
enum { CODES_KEYS_OF_HALVES = 16, CODES_MOST_VECTORS = 4 };
_Static_assert(FOVEA_DECODE_VECTORS_4 <= CODES_MOST_VECTORS, "values have room as f16");

FOVEA_SHORT FOVEA_NOINLINE void codes_values_as_halves(const void *const *values, int count, const int64_t *at,
                                                       int vectors, fovea_code code, int folded, uint16_t *halves) {
  uint16_t *to = halves;
  FOVEA_NO_UNROLL
  for (int key = 0; key < count; key++) {
    FOVEA_NO_UNROLL
    for (int v = 0; v < vectors; v += 2, to += 2 * LANES) {
      const uint8_t *from = (const uint8_t *)values[key] + at[v];
      uint8_t bytes[2 * LANES] = {0};
      if (v + 1 >= vectors || at[v + 1] != at[v] + LANES) { /* two groups of dims, or only one vector */
        memcpy(bytes, from, LANES);
        if (v + 1 < vectors) memcpy(bytes + LANES, (const uint8_t *)values[key] + at[v + 1], LANES);
        from = bytes;
      }
      if (code == FOVEA_CODE_E5M2)
        vec_halves_e5m2(to, from);
      else
        vec_halves_e4m3(to, from);
    }
  }
  if (!folded) codes_unfold(halves, (int)(to - halves));
}

/* The chains of some rows for the dims from `dim` on, `vectors` vectors. */
FOVEA_INLINE void codes_value_chain(const fovea_decode_value_args *args, int row, const int rows, int64_t dim,
                                    const int vectors, const fovea_code code, const codes_block *block, float *sums,
                                    decode_value_fetch *kept) {
  const fovea_codes *codes = args->coded.codes;
  const int steps = codes_steps(codes, code);
  const vec table = codes_table(codes, code);
  const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
  decode_value_fetch fetch = *kept;
  int64_t at[8], first[8], byte_at[8], scale_at[8];
  vec sum[8][8];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const int64_t group = (dim + v * LANES) / codes->group;
    at[v] = group * codes->group_step;
    first[v] = (dim + v * LANES) % codes->group;
    byte_at[v] = at[v] + first[v]; /* of codes that have a byte each */
    scale_at[v] = (group - block->first) * block->stride;
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vec_load(sums + (r * vectors + v) * LANES);
  }
  _Alignas(64) uint16_t halves[CODES_AS_HALVES(code) ? CODES_KEYS_OF_HALVES * CODES_MOST_VECTORS * LANES : 1];
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key++) {
    vec value[8];
    const char *row_codes = args->values[key];
    const uint16_t *numbers_16 = halves;
    if (CODES_AS_HALVES(code)) numbers_16 += key % CODES_KEYS_OF_HALVES * ((vectors + 1) / 2 * 2) * LANES;
    if (CODES_AS_HALVES(code) && key % CODES_KEYS_OF_HALVES == 0) {
      const int rest = args->key_count - key, count = rest < CODES_KEYS_OF_HALVES ? rest : CODES_KEYS_OF_HALVES;
      codes_values_as_halves(args->values + key, count, byte_at, vectors, codes->code, block->folded, halves);
    }
    decode_fetch_values(&fetch, codes->row_bytes);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const codes_numbers numbers = {vec_set1(block->scales[scale_at[v] + key]),
                                     vec_set1(block->zeroed ? block->zeros[scale_at[v] + key] : codes->bias)};
      if (CODES_IN_PAIRS(code, vectors) && v % 2 == 1) continue;
      if (CODES_AS_HALVES(code)) {
        value[v] = vec_mul(vec_load_f16(numbers_16 + v * LANES), numbers.scale);
      } else if (CODES_IN_PAIRS(code, vectors)) {
        const vec looked_up = codes_apply(table, &numbers, code, steps);
        const uint8_t *bytes = (const uint8_t *)row_codes + at[v] + (code == FOVEA_CODE_U4 ? first[v] / 2 : 0);
        value[v] = vec_look_up(looked_up, vec_load_bits_of_u8(bytes, 0));
        value[v + 1] = vec_look_up(looked_up, vec_load_bits_of_u8(bytes, 4));
      } else if (CODES_LOOKED_UP(code)) /* the formula is applied to the table */
        value[v] = vec_look_up(codes_apply(table, &numbers, code, steps),
                               codes_bits_of_dims(row_codes + at[v], first[v], codes->group / 2, code));
      else
        value[v] =
            codes_apply(codes_of_dims(row_codes + at[v], first[v], codes->group / 2, code), &numbers, code, steps);
    }
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      vec weight = vec_set1(weights[r * FOVEA_BLOCK_KEYS + key]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) sum[r][v] = vec_fma(weight, value[v], sum[r][v]);
    }
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(sums + (r * vectors + v) * LANES, sum[r][v]);
  }
  *kept = fetch;
}
