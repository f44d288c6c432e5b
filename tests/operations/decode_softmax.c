/* Scores of decoding after the products: decode_adjust(), decode_softmax(),
 * decode_normalise(). */
#include "../../arch/args/decode.h"
#include "contract.h"
#include "masks.h"
#include "terms.h"

enum { ROWS = FOVEA_DECODE_ROWS_LIMIT };

/* Keys of a block, rounded to whole vectors. */
struct keys {
  int begin, end;
};

static struct keys random_keys(const fovea_kernels *table, struct generator *generator) {
  const int all = FOVEA_BLOCK_KEYS / table->lanes;
  const int begin = (int)generator_below(generator, 2) * (int)generator_below(generator, all);
  return (struct keys){begin * table->lanes, (begin + random_size(generator, 1, all - begin)) * table->lanes};
}

static void expect_adjusted(const fovea_decode_adjust_args *args) {
  for (int row = 0; row < args->row_count; row++)
    for (int key = args->key_begin; key < args->key_end; key++) {
      float *score = shadow_of(args->scores + row * FOVEA_BLOCK_KEYS + key);
      *score = leaky_score(args->terms, *score);
      *score = scaled_score(args->tile_terms, 1, row, key, *score);
      if (args->terms->capped) *score = args->terms->cap * contract_tanh(*score);
      *score = placed_score(args->tile_terms, 1, row, key, *score, args->terms->unit);
      if (args->mask != NULL) {
        const int there = args->mask->repeats || key < args->mask->key_count;
        const float bias = there ? mask_bias(args->mask, row, key) : 0.0f;
        *score = biased_score(*score, bias, args->terms->unit);
      }
      if (key < args->seen_from[row] || key >= args->seen_to[row]) *score = -INFINITY;
    }
}

/* No row sees keys beyond the mask. */
static void try_adjust(const fovea_kernels *table, struct generator *generator) {
  const struct keys keys = random_keys(table, generator);
  const int rows = 1 + (int)generator_below(generator, ROWS);
  int32_t *to;
  fovea_score_terms terms = {.capped = (int)generator_below(generator, 2),
                             .cap = 1.0f + fabsf(generator_uniform(generator)) * 50.0f,
                             .unit = random_unit(generator)};
  terms.adjusted = terms.capped;
  add_leaky(&terms, generator);
  fovea_decode_adjust_args args = {
      .scores = place_floats(rows * FOVEA_BLOCK_KEYS, random_numbers(generator)),
      .row_count = rows,
      .key_begin = keys.begin,
      .key_end = keys.end,
      .terms = &terms,
  };
  args.seen_from = place_limits(generator, rows, FOVEA_BLOCK_KEYS, &to);
  args.seen_to = to;
  fovea_mask_tile mask = {0};
  fovea_tile_terms own = {.count = 0};
  if (generator_below(generator, 2)) {
    own = place_terms(generator, rows, 1);
    args.tile_terms = &own;
  }
  if (generator_below(generator, 2) == 0) {
    mask = place_mask(generator, rows, random_size(generator, 1, FOVEA_BLOCK_KEYS));
    args.mask = &mask;
    for (int row = 0; row < rows; row++) to[row] = to[row] < mask.key_count ? to[row] : mask.key_count;
  }
  places_watch();
  table->decode_adjust(&args);
  expect_adjusted(&args);
  places_check(table->name,
               "decode_adjust, %d rows, keys %d to %d, leaky %d, scales %d, capped %d, positions %d, mask type %d "
               "of %d keys",
               rows, keys.begin, keys.end - 1, args.terms->leaky, own.scales != NULL, args.terms->capped, own.count,
               (int)mask.type, mask.key_count);
}

static void test_adjust(void **state) {
  (void)state;
  try_tables(whole_tables(), try_adjust, USUAL_OR_LONG(50, 5000));
}

/* The scores of one row: of any size, some hidden, or none above -0. */
static void fill_scores(struct generator *generator, float *scores, int count) {
  static const float scales[] = {1.0f, 12.0f, 150.0f, 3e38f};
  const float scale = scales[generator_below(generator, 4)];
  const int special = generator_below(generator, 3) == 0, hidden = (int)generator_below(generator, 5);
  const int negative = generator_below(generator, 8) == 0;
  for (int i = 0; i < count; i++) {
    scores[i] = negative ? fminf(scores[i], -0.0f) : scores[i] * scale;
    if (negative && scores[i] == 0.0f) scores[i] = -0.0f;
    if (special && !negative && generator_below(generator, 40) == 0) scores[i] = random_number(generator, ANY);
    if (generator_below(generator, 4) < hidden) scores[i] = -INFINITY;
  }
}

static void fill_states(struct generator *generator, float *row_max, float *row_sum) {
  for (int row = 0; row < ROWS; row++) {
    row_max[row] = row_max[row] * 150.0f + 0.0f;
    row_sum[row] = 1.0f + fabsf(row_sum[row]) * 1000.0f;
    if (generator_below(generator, 5) == 0) row_max[row] = -INFINITY, row_sum[row] = 0.0f;
  }
}

/* Computes one row on the shadows. Returns whether it has a state. */
static int expect_row(const fovea_decode_softmax_args *args, int row) {
  float *scores = shadow_of(args->scores + row * FOVEA_BLOCK_KEYS), m = -INFINITY, sums[16] = {0.0f};
  float *row_max = shadow_of(args->row_max), *row_sum = shadow_of(args->row_sum);
  for (int key = args->key_begin; key < args->key_end; key++) m = maximum_of(m, scores[key]);
  m += 0.0f;
  for (int key = args->key_begin; key < args->key_end; key++) {
    scores[key] = args->weighting != NULL ? contract_weight((enum contract_normaliser)args->weighting->normaliser,
                                                            args->weighting->bias, scores[key])
                                          : contract_exp2(scores[key] - reference_of(m));
    sums[key % 16] += scores[key];
  }
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  if (args->weighting != NULL && (m != -INFINITY || isnan(sums[0]))) m = 0.0f;
  *(float *)shadow_of(args->block_max + row) = m;
  *(float *)shadow_of(args->block_sum + row) = sums[0];
  if (args->first) {
    row_max[row] = m;
    row_sum[row] = sums[0];
    return m != -INFINITY;
  }
  const float both = maximum_of(row_max[row], m), reference = reference_of(both);
  const float a = contract_exp2(row_max[row] - reference), b = contract_exp2(m - reference);
  row_max[row] = both;
  row_sum[row] = fmaf(sums[0], b, row_sum[row] * a);
  *(float *)shadow_of(args->old_part + row) = a;
  *(float *)shadow_of(args->new_part + row) = b;
  return m != -INFINITY;
}

static void try_block(const fovea_kernels *table, struct generator *generator, const fovea_weighting *weighting) {
  const struct keys keys = random_keys(table, generator);
  const int rows = 1 + (int)generator_below(generator, ROWS), rest = (ROWS - rows) * 4;
  const fovea_decode_softmax_args args = {
      .scores = place_floats(rows * FOVEA_BLOCK_KEYS, ORDINARY),
      .row_count = rows,
      .key_begin = keys.begin,
      .key_end = keys.end,
      .block_max = place_floats(ROWS, ORDINARY),
      .block_sum = place_floats(ROWS, ORDINARY),
      .row_max = place_floats(ROWS, ORDINARY),
      .row_sum = place_floats(ROWS, ORDINARY),
      .old_part = place_floats(ROWS, ORDINARY),
      .new_part = place_floats(ROWS, ORDINARY),
      .first = generator_below(generator, 3) == 0,
      .weighting = weighting,
  };
  for (int row = 0; row < rows; row++)
    fill_scores(generator, args.scores + row * FOVEA_BLOCK_KEYS, FOVEA_BLOCK_KEYS);
  fill_states(generator, args.row_max, args.row_sum);
  for (int row = 0; weighting != NULL && row < rows; row++) { /* of states without the softmax */
    if (args.row_max[row] != -INFINITY) args.row_max[row] = 0.0f;
  }
  places_watch();
  const int none = (weighting != NULL ? table->decode_normalise : table->decode_softmax)(&args);
  int all = 1;
  for (int row = 0; row < rows; row++) all &= expect_row(&args, row);
  float *const of_rows[] = {args.block_max, args.block_sum, args.row_max,
                            args.row_sum,   args.old_part,  args.new_part};
  for (int i = 0; i < 6; i++) shadow_ignores(of_rows[i] + rows, rest);
  places_check(table->name, "decode_softmax %d, %d rows, keys %d to %d, first %d",
               weighting != NULL ? (int)weighting->normaliser : 0, rows, keys.begin, keys.end - 1, args.first);
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

static void test_normalise(void **state) {
  (void)state;
  try_tables(whole_tables(), try_normalise, USUAL_OR_LONG(50, 5000));
}

static void test_softmax(void **state) {
  (void)state;
  try_tables(whole_tables(), try_softmax, USUAL_OR_LONG(50, 5000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adjust),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_normalise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
