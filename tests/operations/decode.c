/* Products of decoding: decode_score(), decode_value(). */
#include "../../arch/args/decode.h"
#include "operation.h"

/* The place of a dim of a key in a panel, in elements. */
static int64_t panel_place(fovea_type type, int64_t key, int64_t dim) {
  if (type == FOVEA_BF16) return (dim / 2 * FOVEA_PANEL_ROWS + key) * 2 + dim % 2;
  return dim * FOVEA_PANEL_ROWS + key;
}

/* A pointer for each key, up to whole vectors of keys. Rows lie in any order and may repeat; after the last key
 * any row will do. */
static const void **place_keys(struct generator *generator, fovea_type type, int key_count, int64_t dim,
                               enum numbers numbers, int pointers) {
  const int64_t stride = dim + generator_below(generator, 3) * 3;
  const char *elements = place_elements(type, (key_count - 1) * stride + dim, numbers);
  const void **keys = place_pointers(pointers);
  const int reversed = generator_below(generator, 2) == 0;
  for (int key = 0; key < pointers; key++) {
    int row = reversed ? key_count - 1 - key : key;
    if (key >= key_count || generator_below(generator, 20) == 0) row = (int)generator_below(generator, key_count);
    keys[key] = element_at(type, elements, row * stride);
  }
  return keys;
}

/* Panels of 16 keys in any order: a pointer to the first dim of each key. */
static const void **place_panels(fovea_type type, int64_t dim, enum numbers numbers, int pointers) {
  const int64_t size = (type == FOVEA_BF16 ? rounded_up(dim, 2) : dim) * FOVEA_PANEL_ROWS;
  const int count = (pointers + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS;
  void *panels = place_elements(type, count * size, numbers);
  if (type == FOVEA_BF16 && dim % 2 != 0) /* an odd last dim lies beside zeros */
    for (int64_t key = 0; key < count * FOVEA_PANEL_ROWS; key++)
      ((uint16_t *)panels)[key / FOVEA_PANEL_ROWS * size + panel_place(type, key % FOVEA_PANEL_ROWS, dim)] = 0;
  const void **keys = place_pointers(pointers);
  for (int key = 0; key < pointers; key++) {
    const int64_t panel = count - 1 - key / FOVEA_PANEL_ROWS;
    keys[key] = element_at(type, panels, panel * size + panel_place(type, key % FOVEA_PANEL_ROWS, 0));
  }
  return keys;
}

static float key_element(const fovea_decode_score_args *args, int key, int64_t dim) {
  return element(args->type, args->keys[key], args->panels ? panel_place(args->type, 0, dim) : dim);
}

/* Whole vectors are computed: rows and keys that nobody asked for get any scores. */
static void expect_scores(const fovea_kernels *table, const fovea_decode_score_args *args) {
  static float k[FOVEA_BLOCK_KEYS][300];
  for (int key = 0; key < args->key_count; key++)
    for (int64_t d = 0; d < args->dim; d++) k[key][d] = key_element(args, key, d);
  for (int row = 0; row < args->row_count; row++) {
    float *scores = shadow_of(args->scores + row * FOVEA_BLOCK_KEYS);
    for (int key = 0; key < args->key_count; key++)
      scores[key] = dot_product(args->queries + row * args->query_stride, k[key], args->dim) * args->c;
    const int rest = rounded_up(args->key_count, table->lanes) - args->key_count;
    shadow_ignores(args->scores + row * FOVEA_BLOCK_KEYS + args->key_count, rest * 4);
  }
}

static void try_score(const fovea_kernels *table, struct generator *generator) {
  const int lanes = table->lanes, begin = (int)generator_below(generator, 2) * (int)generator_below(generator, 80);
  const int first = begin / lanes * lanes, key_count = random_size(generator, 1, FOVEA_BLOCK_KEYS - first);
  const int pointers = rounded_up(key_count, lanes);
  const int64_t dim = random_size(generator, 1, 300);
  const enum numbers numbers = random_numbers(generator);
  fovea_decode_score_args args = {
      .query_stride = dim + generator_below(generator, 2) * generator_below(generator, 20),
      .row_count = 1 + (int)generator_below(generator, FOVEA_DECODE_ROWS_LIMIT),
      .panels = (int)generator_below(generator, 2),
      .type = random_type(generator),
      .dim = dim,
      .key_count = key_count,
      .c = generator_uniform(generator) * 3.0f,
  };
  args.queries = place_floats((args.row_count - 1) * args.query_stride + dim + 4, numbers);
  args.keys = args.panels ? place_panels(args.type, dim, numbers, pointers)
                          : place_keys(generator, args.type, key_count, dim, numbers, pointers);
  args.prefetch = generator_below(generator, 2) == 0 ? args.keys : place_pointers(pointers);
  for (int i = 0; i < pointers && args.prefetch != args.keys; i++) ((const void **)args.prefetch)[i] = args.keys[0];
  args.scores = place_output(args.row_count * FOVEA_BLOCK_KEYS) + first;
  places_watch();
  table->decode_score(&args);
  expect_scores(table, &args);
  places_check(table->name, "decode_score, %d rows, %d keys of %d dims, %s, panels %d", args.row_count, key_count,
               (int)dim, type_name(args.type), args.panels);
}

static void test_score(void **state) {
  (void)state;
  try_tables(whole_tables(), try_score, USUAL_OR_LONG(40, 1000));
}

/* Numbers between the last dim and the next row may have any value. */
static void expect_values(const fovea_decode_value_args *args) {
  for (int row = 0; row < args->row_count; row++) {
    const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
    const int64_t at = row * args->output_stride;
    float *partial = shadow_of(args->partial + at), *output = shadow_of(args->output + at);
    for (int64_t d = 0; d < args->dim; d++) {
      float sum = args->flags & FOVEA_VALUE_START ? 0.0f : partial[d];
      for (int key = 0; key < args->key_count; key++)
        sum = fmaf(weights[key], element(args->type, args->values[key], d), sum);
      if (args->flags & FOVEA_VALUE_MERGE)
        output[d] = fmaf(sum, args->new_part[row], output[d] * args->old_part[row]);
      else
        *(args->flags & FOVEA_VALUE_ASSIGN ? &output[d] : &partial[d]) = sum;
    }
    shadow_ignores(args->partial + at + args->dim, (args->output_stride - args->dim) * 4);
    shadow_ignores(args->output + at + args->dim, (args->output_stride - args->dim) * 4);
  }
}

static void try_value(const fovea_kernels *table, struct generator *generator) {
  static const int ends[] = {0, FOVEA_VALUE_ASSIGN, FOVEA_VALUE_MERGE};
  const int first = (int)generator_below(generator, 2) * (int)generator_below(generator, 100);
  const int key_count =
      (int)generator_below(generator, 8) == 0 ? 0 : random_size(generator, 1, FOVEA_BLOCK_KEYS - first);
  const int pointers = key_count > 0 ? key_count : 1;
  const int64_t dim = random_size(generator, 1, 300), stride = rounded_up(dim, 16);
  const int rows = 1 + (int)generator_below(generator, FOVEA_DECODE_ROWS_LIMIT);
  const enum numbers numbers = random_numbers(generator);
  fovea_decode_value_args args = {
      .weights = place_floats((rows - 1) * FOVEA_BLOCK_KEYS + first + pointers, numbers) + first,
      .row_count = rows,
      .type = random_type(generator),
      .dim = dim,
      .key_count = key_count,
      .flags = (int)generator_below(generator, 2) * FOVEA_VALUE_START | ends[generator_below(generator, 3)],
      .partial = place_floats(rows * stride, numbers),
      .output = place_floats(rows * stride, numbers),
      .output_stride = stride,
      .old_part = place_floats(FOVEA_DECODE_ROWS_LIMIT, ORDINARY),
      .new_part = place_floats(FOVEA_DECODE_ROWS_LIMIT, ORDINARY),
  };
  args.values = place_keys(generator, args.type, pointers, dim, numbers, pointers);
  args.prefetch = args.values;
  places_watch();
  table->decode_value(&args);
  expect_values(&args);
  places_check(table->name, "decode_value, %d rows, %d keys of %d dims, %s, flags %d", rows, key_count, (int)dim,
               type_name(args.type), args.flags);
}

static void test_value(void **state) {
  (void)state;
  try_tables(whole_tables(), try_value, USUAL_OR_LONG(40, 1000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_score),
      cmocka_unit_test(test_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
