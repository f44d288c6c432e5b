/* Weights times values: value(), pack_values(), all_finite(). */
#include "operation.h"

/* The layout of a panel: [dim / panel_dims][key][dim % panel_dims]. */
static int64_t panel_floats(const fovea_kernels *table, int64_t dim) {
  return (int64_t)rounded_up(dim, table->panel_dims) * FOVEA_BLOCK_KEYS;
}

static int64_t panel_place(const fovea_kernels *table, int64_t key, int64_t dim) {
  const int64_t width = table->panel_dims;
  return dim / width * width * FOVEA_BLOCK_KEYS + key * width + dim % width;
}

static float *place_panel(const fovea_kernels *table, const float *values, int64_t stride, int64_t dim, int first,
                          int key_count) {
  float *panel = place_output(panel_floats(table, dim));
  for (int key = 0; key < key_count; key++)
    for (int64_t d = 0; d < dim; d++) panel[panel_place(table, first + key, d)] = values[key * stride + d];
  return panel + (int64_t)first * table->panel_dims;
}

static void expect_values(const fovea_kernels *table, const fovea_value_args *args) {
  const int tile = table->row_tile;
  float *partial = shadow_of(args->partial), *output = shadow_of(args->output);
  for (int64_t d = 0; d < args->dim; d++)
    for (int row = first_row(table, args->vectors); row < end_row(table, args->vectors); row++) {
      const int64_t at = d * tile + row;
      float sum = args->flags & FOVEA_VALUE_START ? 0.0f : partial[at];
      for (int key = 0; key < args->key_count; key++)
        sum = fmaf(args->weights[key * tile + row], args->values[key * args->value_stride + d], sum);
      if (args->flags & FOVEA_VALUE_MERGE)
        output[at] = fmaf(sum, args->new_part[row], output[at] * args->old_part[row]);
      else
        *(args->flags & FOVEA_VALUE_ASSIGN ? &output[at] : &partial[at]) = sum;
    }
}

static void try_value(const fovea_kernels *table, struct generator *generator) {
  static const int ends[] = {0, FOVEA_VALUE_ASSIGN, FOVEA_VALUE_MERGE};
  const int tile = table->row_tile,
            first = (int)generator_below(generator, 2) * (int)generator_below(generator, 60);
  const int64_t dim = random_size(generator, 1, 200),
                stride = dim + (dim < 150 ? generator_below(generator, 40) : 0);
  const int key_count = random_size(generator, 1, FOVEA_BLOCK_KEYS - first);
  const enum numbers numbers = random_numbers(generator);
  fovea_value_args args = {
      .weights = place_floats((int64_t)key_count * tile, numbers),
      .values = place_floats((key_count - 1) * stride + dim, numbers),
      .value_stride = stride,
      .dim = dim,
      .key_count = key_count,
      .flags = (int)generator_below(generator, 2) * FOVEA_VALUE_START | ends[generator_below(generator, 3)],
      .partial = place_floats(dim * tile, numbers),
      .output = place_floats(dim * tile, numbers),
      .old_part = place_floats(tile, ORDINARY),
      .new_part = place_floats(tile, ORDINARY),
      .vectors = random_vectors(table, generator),
  };
  if (generator_below(generator, 2) == 0)
    args.panel = place_panel(table, args.values, stride, dim, first, key_count);
  args.prefetch_count = (int)generator_below(generator, 4);
  fovea_fetch_row *rows = (fovea_fetch_row *)(void *)place_bytes(args.prefetch_count * (int64_t)sizeof *rows);
  for (int i = 0; i < args.prefetch_count; i++)
    rows[i] = (fovea_fetch_row){(const char *)args.values, generator_below(generator, 4000)};
  args.prefetch = rows;
  places_watch();
  table->value(&args);
  expect_values(table, &args);
  places_check(table->name, "value, %d keys of %d dims, vectors %d+%d, flags %d, panel %d", key_count, (int)dim,
               args.vectors.first, args.vectors.count, args.flags, args.panel != NULL);
}

static void test_value(void **state) {
  (void)state;
  try_tables(whole_tables(), try_value, USUAL_OR_LONG(25, 1500));
}

static void try_pack_values(const fovea_kernels *table, struct generator *generator) {
  const int64_t dim = random_size(generator, 1, 200), stride = dim + generator_below(generator, 40);
  const int first = (int)generator_below(generator, 100);
  const int key_count = random_size(generator, 1, FOVEA_BLOCK_KEYS - first);
  const float *values = place_floats((key_count - 1) * stride + dim, random_numbers(generator));
  float *panel = place_output(panel_floats(table, dim));
  places_watch();
  table->pack_values(
      &(fovea_pack_args){values, stride, dim, key_count, panel + (int64_t)first * table->panel_dims});
  float *expected = shadow_of(panel);
  for (int key = 0; key < key_count; key++)
    for (int64_t d = 0; d < dim; d++) expected[panel_place(table, first + key, d)] = values[key * stride + d];
  places_check(table->name, "pack_values, %d keys of %d dims from %d on", key_count, (int)dim, first);
}

static void test_pack_values(void **state) {
  (void)state;
  try_tables(whole_tables(), try_pack_values, USUAL_OR_LONG(40, 2000));
}

/* Finite numbers, with NaN or Inf at one place: within the rows, or between them. */
static void try_all_finite(const fovea_kernels *table, struct generator *generator) {
  static const uint32_t bad[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001};
  const int64_t dim = random_size(generator, 1, 200), rows = random_size(generator, 1, 30);
  const int64_t stride = dim + generator_below(generator, 20), count = (rows - 1) * stride + dim;
  float *values = place_floats(count, FINITE);
  const int64_t at = generator_below(generator, count);
  const int spoiled = generator_below(generator, 4) > 0;
  memcpy(&values[at], spoiled ? &bad[generator_below(generator, 5)] : &(uint32_t){0x7f7fffff}, sizeof *values);
  places_watch();
  const int finite = table->all_finite(values, stride, rows, dim);
  places_check(table->name, "all_finite, %d rows of %d dims", (int)rows, (int)dim);
  if (finite != !(spoiled && at % stride < dim))
    fail_msg("%s: all_finite() of %d rows of %d dims is %d, with %a at %d of stride %d", table->name, (int)rows,
             (int)dim, finite, (double)values[at], (int)at, (int)stride);
}

static void test_all_finite(void **state) {
  (void)state;
  try_tables(whole_tables(), try_all_finite, USUAL_OR_LONG(100, 10000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_value),
      cmocka_unit_test(test_pack_values),
      cmocka_unit_test(test_all_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
