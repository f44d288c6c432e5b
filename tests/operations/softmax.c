/* The online softmax of a block, and what stands for it: softmax(), normalise(). */
#include "contract.h"
#include "operation.h"

/* Scores of all sizes, some hidden. Without NaN, `maxima` are the maxima of the scores. */
static float *place_scores(struct generator *generator, int64_t count) {
  static const float scales[] = {1.0f, 12.0f, 150.0f, 3e38f};
  const float scale = scales[generator_below(generator, 4)];
  const int special = generator_below(generator, 3) == 0, hidden = (int)generator_below(generator, 3);
  float *scores = place_floats(count, ORDINARY);
  for (int64_t i = 0; i < count; i++) {
    scores[i] *= scale;
    if (special && generator_below(generator, 40) == 0) scores[i] = random_number(generator, ANY);
    if (generator_below(generator, 4) < hidden) scores[i] = -INFINITY;
  }
  return scores;
}

/* States of rows: none, or a maximum and a sum of at least 1. */
static void fill_states(struct generator *generator, float *row_max, float *row_sum, int rows) {
  for (int row = 0; row < rows; row++) {
    row_max[row] = row_max[row] * 150.0f + 0.0f;
    row_sum[row] = 1.0f + fabsf(row_sum[row]) * 1000.0f;
    if (generator_below(generator, 5) == 0) row_max[row] = -INFINITY, row_sum[row] = 0.0f;
    if (generator_below(generator, 30) == 0) row_sum[row] = NAN;
  }
}

/* Merges the state of a block into the row's state, on the shadows. Returns whether the block has a state. */
static int expect_state(const fovea_softmax_args *args, int row, float m, float l) {
  float *row_max = shadow_of(args->row_max), *row_sum = shadow_of(args->row_sum);
  *(float *)shadow_of(args->maxima + row) = m;
  *(float *)shadow_of(args->block_sum + row) = l;
  if (args->first) {
    row_max[row] = m;
    row_sum[row] = l;
    return m != -INFINITY;
  }
  const float both = maximum_of(row_max[row], m), reference = reference_of(both);
  const float a = contract_exp2(row_max[row] - reference), b = contract_exp2(m - reference);
  row_max[row] = both;
  row_sum[row] = fmaf(l, b, row_sum[row] * a);
  *(float *)shadow_of(args->old_part + row) = a;
  *(float *)shadow_of(args->new_part + row) = b;
  return m != -INFINITY;
}

/* Computes one row on the shadows. Returns whether it has a state. */
static int expect_row(const fovea_kernels *table, const fovea_softmax_args *args, int row) {
  const int vector = row / table->lanes, tile = table->row_tile;
  float *scores = shadow_of(args->scores), sums[16] = {0.0f};
  const float m = *(float *)shadow_of(args->maxima + row) + 0.0f;
  for (int key = args->key_begin[vector]; key < args->key_end[vector]; key++) {
    float *score = &scores[key * tile + row];
    *score = args->weighting != NULL ? contract_weight((enum contract_normaliser)args->weighting->normaliser,
                                                       args->weighting->bias, *score)
                                     : contract_exp2(*score - reference_of(m));
    sums[key % 16] += *score;
  }
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  if (args->weighting == NULL) return expect_state(args, row, m, sums[0]);
  return expect_state(args, row, m != -INFINITY || isnan(sums[0]) ? 0.0f : -INFINITY, sums[0]);
}

static void try_block(const fovea_kernels *table, struct generator *generator, const fovea_weighting *weighting) {
  const int tile = table->row_tile;
  int begin[FOVEA_CHANNELS_LIMIT] = {0}, end[FOVEA_CHANNELS_LIMIT] = {0};
  for (int v = 0; v < vectors_of(table); v++) {
    begin[v] = (int)generator_below(generator, 2) * (int)generator_below(generator, FOVEA_BLOCK_KEYS);
    end[v] = begin[v] + random_size(generator, 1, FOVEA_BLOCK_KEYS - begin[v]);
  }
  const fovea_softmax_args args = {
      .scores = place_scores(generator, (int64_t)FOVEA_BLOCK_KEYS * tile),
      .maxima = place_floats(tile, ORDINARY),
      .row_max = place_floats(tile, ORDINARY),
      .row_sum = place_floats(tile, ORDINARY),
      .block_sum = place_output(tile),
      .old_part = place_output(tile),
      .new_part = place_output(tile),
      .first = generator_below(generator, 3) == 0,
      .vectors = random_vectors(table, generator),
      .key_begin = begin,
      .key_end = end,
      .weighting = weighting,
  };
  fill_states(generator, args.row_max, args.row_sum, tile);
  for (int row = 0; row < tile; row++) {
    const int v = row / table->lanes;
    args.maxima[row] = -INFINITY;
    for (int key = begin[v]; key < end[v]; key++)
      args.maxima[row] = maximum_of(args.maxima[row], args.scores[key * tile + row]);
    if (args.maxima[row] == 0.0f) args.maxima[row] = -0.0f;
  }
  for (int row = 0; weighting != NULL && row < tile; row++) { /* of states without the softmax */
    if (args.row_max[row] != -INFINITY) args.row_max[row] = 0.0f;
  }
  places_watch();
  const int none = (weighting != NULL ? table->normalise : table->softmax)(&args);
  int all = 1;
  for (int row = first_row(table, args.vectors); row < end_row(table, args.vectors); row++)
    all &= expect_row(table, &args, row);
  places_check(table->name, "%s %d, keys %d to %d, vectors %d+%d, first %d",
               weighting != NULL ? "normalise" : "softmax", weighting != NULL ? (int)weighting->normaliser : 0,
               begin[args.vectors.first], end[args.vectors.first] - 1, args.vectors.first, args.vectors.count,
               args.first);
  assert_int_equal(none, !all);
}

static void try_softmax(const fovea_kernels *table, struct generator *generator) {
  try_block(table, generator, NULL);
}

static void try_normalise(const fovea_kernels *table, struct generator *generator) {
  const fovea_weighting weighting = {(fovea_normaliser)(FOVEA_NORMALISER_RELU + generator_below(generator, 3)),
                                     random_number(generator, ORDINARY)};
  try_block(table, generator, &weighting);
}

static void test_softmax(void **state) {
  (void)state;
  try_tables(whole_tables(), try_softmax, USUAL_OR_LONG(30, 2500));
}

static void test_normalise(void **state) {
  (void)state;
  try_tables(whole_tables(), try_normalise, USUAL_OR_LONG(30, 2500));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax), cmocka_unit_test(test_normalise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
