/* Scores of decoding, with keys in the lanes: activation, softcap and masks, then weights and their sums. The
 * arithmetic is as in terms.h and state.h. Part of decode.h. */

/* Vectors that the sums of the weights fill. */
#define DECODE_SUMS (FOVEA_WEIGHT_SUMS / LANES)

/* What Shaw's keys add, and the row's scale. */
FOVEA_INLINE vec decode_scale(const fovea_decode_adjust_args *args, int row, int key, vec score) {
  const fovea_shaw_numbers *shaw = &args->tile_terms->shaw;
  score_terms terms = {.shifted = shaw->numbers != NULL, .scaled = 1};
  if (shaw->numbers) terms.bias = shaw->numbers + row * shaw->step + key;
  terms.factor = vec_set1(args->tile_terms->scales[row]);
  apply_terms(&score, 1, 1, &terms);
  return score;
}

/* The position terms of LANES keys. */
FOVEA_INLINE vec decode_place(const fovea_decode_adjust_args *args, int row, int key, vec score) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < args->tile_terms->count; i++) {
    const fovea_position_tile *position = &args->tile_terms->positions[i];
    score_terms terms = {.placed = 1, .sloped = position->slopes != NULL};
    terms.of = args->terms;
    terms.bias = position->numbers + row * position->step + key;
    terms.factor = vec_set1(position->slopes ? position->slopes[row] : 0.0f);
    apply_terms(&score, 1, 1, &terms);
  }
  return score;
}

FOVEA_INLINE void decode_adjust_row(const fovea_decode_adjust_args *args, int row) {
  const vec from = vec_set1((float)args->seen_from[row]), to = vec_set1((float)args->seen_to[row]);
  const fovea_tile_terms *own = args->tile_terms;
  for (int key = args->key_begin; key < args->key_end; key += LANES) {
    float *scores = args->scores + row * FOVEA_BLOCK_KEYS + key;
    vec score = vec_load(scores);
    if (args->terms->leaky) {
      const score_terms leaky = {.leaky = 1, .of = args->terms};
      apply_terms(&score, 1, 1, &leaky);
    }
    if (own && own->scales) score = decode_scale(args, row, key, score);
    if (args->terms->capped) {
      const score_terms capped = {.capped = 1, .of = args->terms};
      apply_terms(&score, 1, 1, &capped);
    }
    if (own) score = decode_place(args, row, key, score);
    score_terms terms = {.masked = args->mask != NULL, .hidden = 1};
    terms.of = args->terms;
    terms.mask = args->mask;
    terms.row = row;
    terms.key = key;
    terms.from = from;
    terms.to = to;
    apply_terms(&score, 1, 1, &terms);
    vec_store(scores, score);
  }
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(decode_adjust)(const fovea_decode_adjust_args *args) {
  for (int row = 0; row < args->row_count; row++) decode_adjust_row(args, row);
}

/* Replaces scores by weights. Returns their sum: of FOVEA_WEIGHT_SUMS sums, halves are added to halves. */
FOVEA_INLINE float decode_weights(float *scores, int begin, int end, float maximum) {
  const vec reference = state_reference(vec_set1(maximum));
  vec sums[DECODE_SUMS];
  float lanes[FOVEA_WEIGHT_SUMS];
  for (int i = 0; i < DECODE_SUMS; i++) sums[i] = vec_set1(0.0f);
  for (int key = begin; key < end; key += LANES) {
    vec weight = vec_exp2(vec_sub(vec_load(scores + key), reference));
    vec_store(scores + key, weight);
    sums[key / LANES % DECODE_SUMS] = vec_add(sums[key / LANES % DECODE_SUMS], weight);
  }
  for (int i = 0; i < DECODE_SUMS; i++) vec_store(lanes + i * LANES, sums[i]);
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

FOVEA_KERNEL int FOVEA_NAME(decode_softmax)(const fovea_decode_softmax_args *args) {
  int none = 0;
  for (int row = 0; row < args->row_count; row++) {
    float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
    args->block_max[row] = decode_maximum(scores, args->key_begin, args->key_end);
    args->block_sum[row] = decode_weights(scores, args->key_begin, args->key_end, args->block_max[row]);
    none |= args->block_max[row] == -INFINITY;
  }
  /* LANES rows at a time. Lanes beyond row_count are computed, but their results are not used. */
  for (int row = 0; row < args->row_count; row += LANES) {
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, vec_load(args->block_max + row), vec_load(args->block_sum + row));
  }
  return none;
}
