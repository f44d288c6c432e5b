/* Values with NaN and Inf that some rows must not see: value_careful(). */
#include "masks.h"

/* Whether the row's chain takes the key: the row sees it, and has a state from the block. */
static int takes(const fovea_value_args *args, int row, int key) {
  if (args->maxima[row] == -INFINITY && !isnan(args->block_sum[row])) return 0;
  if (args->seen_from != NULL && (key < args->seen_from[row] || key >= args->seen_to[row])) return 0;
  return args->mask == NULL || mask_bias(args->mask, row, args->key + key) != -INFINITY;
}

static void expect_values(const fovea_kernels *table, const fovea_value_args *args) {
  const int tile = table->row_tile;
  float *partial = shadow_of(args->partial), *output = shadow_of(args->output);
  for (int row = first_row(table, args->vectors); row < end_row(table, args->vectors); row++)
    for (int64_t d = 0; d < args->dim; d++) {
      const int64_t at = d * tile + row;
      float sum = args->flags & FOVEA_VALUE_START ? 0.0f : partial[at];
      for (int key = 0; key < args->key_count; key++)
        if (takes(args, row, key))
          sum = fmaf(args->weights[key * tile + row], args->values[key * args->value_stride + d], sum);
      if (args->flags & FOVEA_VALUE_MERGE)
        output[at] = fmaf(sum, args->new_part[row], output[at] * args->old_part[row]);
      else
        *(args->flags & FOVEA_VALUE_ASSIGN ? &output[at] : &partial[at]) = sum;
    }
}

/* Rows that have a state from the block, none, or NaN. */
static void fill_states(struct generator *generator, float *maxima, float *sums, int rows) {
  for (int row = 0; row < rows; row++) {
    const int kind = (int)generator_below(generator, 6);
    if (kind < 2) maxima[row] = -INFINITY;
    sums[row] = kind == 0 ? NAN : kind == 1 ? 0.0f : 1.0f;
  }
}

static void try_careful(const fovea_kernels *table, struct generator *generator) {
  static const int ends[] = {0, FOVEA_VALUE_ASSIGN, FOVEA_VALUE_MERGE};
  const int tile = table->row_tile, key = (int)generator_below(generator, 2) * (int)generator_below(generator, 100);
  const int key_count = random_size(generator, 1, FOVEA_BLOCK_KEYS - key);
  const int64_t dim = random_size(generator, 1, 60), stride = dim + generator_below(generator, 20);
  float *maxima = place_floats(tile, ORDINARY), *sums = place_floats(tile, ORDINARY);
  fill_states(generator, maxima, sums, tile);
  fovea_value_args args = {
      .weights = place_floats((int64_t)key_count * tile, ORDINARY),
      .values = place_floats((key_count - 1) * stride + dim, ANY),
      .value_stride = stride,
      .dim = dim,
      .key_count = key_count,
      .flags = (int)generator_below(generator, 2) * FOVEA_VALUE_START | ends[generator_below(generator, 3)],
      .partial = place_floats(dim * tile, FINITE),
      .output = place_floats(dim * tile, FINITE),
      .old_part = place_floats(tile, ORDINARY),
      .new_part = place_floats(tile, ORDINARY),
      .vectors = random_vectors(table, generator),
      .key = key,
      .maxima = maxima,
      .block_sum = sums,
  };
  fovea_mask_tile mask = {0};
  if (generator_below(generator, 2) == 0) {
    mask = place_mask(generator, tile, random_size(generator, key + key_count, FOVEA_BLOCK_KEYS));
    args.mask = &mask;
  }
  if (generator_below(generator, 2) == 0) {
    int32_t *to;
    args.seen_from = place_limits(generator, tile, key_count, &to);
    args.seen_to = to;
  }
  places_watch();
  table->value_careful(&args);
  expect_values(table, &args);
  places_check(table->name,
               "value_careful, keys %d to %d, %d dims, vectors %d+%d, flags %d, mask type %d, seen_from %d", key,
               key + key_count - 1, (int)dim, args.vectors.first, args.vectors.count, args.flags, (int)mask.type,
               args.seen_from != NULL);
}

static void test_careful(void **state) {
  (void)state;
  try_tables(whole_tables(), try_careful, USUAL_OR_LONG(20, 1500));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_careful)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
