/* normalise.h for decoding, with keys in the lanes. Part of decode.h. */

/* Replaces scores by weights. Returns their sum: of FOVEA_WEIGHT_SUMS sums, halves are added to halves. */
FOVEA_INLINE float decode_normalise_keys(float *scores, int begin, int end, const fovea_normaliser normaliser,
                                         vec bias) {
  vec sums[DECODE_SUMS];
  float lanes[FOVEA_WEIGHT_SUMS];
  for (int i = 0; i < DECODE_SUMS; i++) sums[i] = vec_set1(0.0f);
  for (int key = begin; key < end; key += LANES) {
    sums[key / LANES % DECODE_SUMS] =
        vec_add(sums[key / LANES % DECODE_SUMS], normalise_key(scores + key, normaliser, bias));
  }
  for (int i = 0; i < DECODE_SUMS; i++) vec_store(lanes + i * LANES, sums[i]);
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

FOVEA_NOINLINE float decode_normalise_row(float *scores, int begin, int end, const fovea_weighting *weighting) {
  const vec bias = vec_set1(weighting->bias);
  switch (weighting->normaliser) {
  case FOVEA_NORMALISER_RELU:
    return decode_normalise_keys(scores, begin, end, FOVEA_NORMALISER_RELU, bias);
  case FOVEA_NORMALISER_RELU_SQUARED:
    return decode_normalise_keys(scores, begin, end, FOVEA_NORMALISER_RELU_SQUARED, bias);
  default:
    return decode_normalise_keys(scores, begin, end, FOVEA_NORMALISER_SIGMOID, bias);
  }
}

FOVEA_KERNEL int FOVEA_NAME(decode_normalise)(const fovea_decode_softmax_args *args) {
  int none = 0;
  for (int row = 0; row < args->row_count; row++) {
    float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
    args->block_max[row] = decode_maximum(scores, args->key_begin, args->key_end);
    args->block_sum[row] = decode_normalise_row(scores, args->key_begin, args->key_end, args->weighting);
    none |= args->block_max[row] == -INFINITY;
  }
  /* LANES rows at a time. Lanes beyond row_count are computed, but their results are not used. */
  for (int row = 0; row < args->row_count; row += LANES) {
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    const vec block_sum = vec_load(args->block_sum + row);
    const vec block_max = normalise_maximum(vec_load(args->block_max + row), block_sum);
    vec_store(args->block_max + row, block_max);
    state_advance(&running, row, args->first, block_max, block_sum);
  }
  return none;
}
