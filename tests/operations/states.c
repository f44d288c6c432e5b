/* The end of a tile: merge() of two states, store() of rows. */
#include "contract.h"
#include "operation.h"

/* Rows without a state, rows with one, rows of NaN. No maximum is -0, as in the library. */
static fovea_tile_state place_state(const fovea_kernels *table, struct generator *generator, int64_t dim) {
  const fovea_tile_state state = {
      .row_max = place_floats(table->row_tile, ORDINARY),
      .row_sum = place_floats(table->row_tile, ORDINARY),
      .output = place_floats(dim * table->row_tile, random_numbers(generator)),
  };
  for (int row = 0; row < table->row_tile; row++) {
    const int kind = (int)generator_below(generator, 10);
    state.row_max[row] = kind == 0 ? -INFINITY : kind == 1 ? INFINITY : state.row_max[row] * 150.0f + 0.0f;
    state.row_sum[row] = kind == 0 ? 0.0f : 1.0f + fabsf(state.row_sum[row]) * 5000.0f;
    if (kind == 1 || kind == 2) state.row_sum[row] = NAN;
    if (kind == 3) state.row_sum[row] = 1.0f;
  }
  return state;
}

static void try_merge(const fovea_kernels *table, struct generator *generator) {
  const int tile = table->row_tile, vectors = 1 + (int)generator_below(generator, vectors_of(table));
  const int64_t dim = random_size(generator, 1, 200);
  const fovea_tile_state left = place_state(table, generator, dim), right = place_state(table, generator, dim);
  places_watch();
  table->merge(&(fovea_merge_args){left, right, dim, vectors});
  float *row_max = shadow_of(left.row_max), *row_sum = shadow_of(left.row_sum), *output = shadow_of(left.output);
  for (int row = 0; row < vectors * table->lanes; row++) {
    const float m = maximum_of(row_max[row], right.row_max[row]), reference = reference_of(m);
    const float a = contract_exp2(row_max[row] - reference), b = contract_exp2(right.row_max[row] - reference);
    row_max[row] = m;
    row_sum[row] = fmaf(right.row_sum[row], b, row_sum[row] * a);
    for (int64_t d = 0; d < dim; d++)
      output[d * tile + row] = fmaf(right.output[d * tile + row], b, output[d * tile + row] * a);
  }
  places_check(table->name, "merge, %d vectors of %d dims", vectors, (int)dim);
}

static void test_merge(void **state) {
  (void)state;
  try_tables(whole_tables(), try_merge, USUAL_OR_LONG(40, 3000));
}

/* Rounds a number and writes it as results are written. */
static void expect_element(fovea_type type, void *elements, int64_t i, float x) {
  if (type == FOVEA_F32)
    ((float *)elements)[i] = rounded_number(FOVEA_F32, x);
  else
    ((uint16_t *)elements)[i] = rounded(type, x);
}

static void expect_output(const fovea_kernels *table, const fovea_store_args *args, int row) {
  for (int64_t d = 0; d < args->dim; d++)
    expect_element(args->type, shadow_of(args->rows[row]), d, args->state.output[d * table->row_tile + row]);
}

/* Where element d of a row's output is, of a tile or of rows. */
static float output_of(const fovea_kernels *table, const fovea_store_args *args, int row, int64_t d) {
  return args->state.output[args->row_stride > 0 ? row * args->row_stride + d : d * table->row_tile + row];
}

/* Steps 5 and 6 of the contract, on the shadows of the row's results. */
static void expect_row(const fovea_kernels *table, const fovea_store_args *args, int row) {
  float m = args->state.row_max[row], l = args->state.row_sum[row], a = 1.0f, added = 0.0f;
  if (args->sinks != NULL) {
    const float sink = args->sinks[row], both = maximum_of(m, sink), reference = reference_of(both);
    const float b = contract_exp2(sink - reference);
    a = contract_exp2(m - reference);
    m = both;
    l = fmaf(1.0f, b, l * a);
    added = 0.0f * b;
  }
  for (int64_t d = 0; d < args->dim; d++) {
    const float o = output_of(table, args, row, d) * a + added;
    expect_element(args->type, shadow_of(args->rows[row]), d, l == 0.0f ? 0.0f : o * (1.0f / l));
  }
  if (args->lse == NULL) return;
  const float lse = isnan(l) ? NAN : l == 0.0f ? -INFINITY : 0x1.62e43p-1f * (m + contract_log2(l));
  *(float *)shadow_of(args->lse[row]) = rounded_number(FOVEA_F32, lse);
}

/* Rows without a state have outputs of zero. */
static void tidy(const fovea_kernels *table, const fovea_tile_state *state, int64_t dim) {
  for (int row = 0; row < table->row_tile; row++)
    for (int64_t d = 0; d < dim && state->row_sum[row] == 0.0f; d++)
      state->output[d * table->row_tile + row] = 0.0f;
}

static float *place_sinks(struct generator *generator, int rows) {
  float *sinks = place_floats(rows, ORDINARY);
  for (int row = 0; row < rows; row++) {
    sinks[row] *= 200.0f;
    if (generator_below(generator, 6) == 0) sinks[row] = random_number(generator, ANY);
    sinks[row] += 0.0f;
  }
  return sinks;
}

/* Rows of O in reverse order, with gaps or without. */
static const void **place_results(struct generator *generator, fovea_type type, int count, int64_t dim) {
  const int64_t stride = dim + generator_below(generator, 3) * 5;
  char *elements = place_exact_output(type, (count - 1) * stride + dim);
  const void **rows = place_pointers(count);
  for (int i = 0; i < count; i++) rows[i] = element_at(type, elements, (count - 1 - i) * stride);
  return rows;
}

static void try_store(const fovea_kernels *table, struct generator *generator) {
  const int count = generator_below(generator, 5) == 0 ? 1 : random_size(generator, 1, table->row_tile);
  const int64_t dim = random_size(generator, 1, 200);
  fovea_store_args args = {
      .state = place_state(table, generator, dim), .dim = dim, .row_count = count, .type = random_type(generator)};
  tidy(table, &args.state, dim);
  args.rows = (void *const *)place_results(generator, args.type, count, dim);
  if (generator_below(generator, 3) > 0) {
    const void **lse = place_pointers(count);
    const float *numbers = place_exact_output(FOVEA_F32, 2 * count - 1);
    for (int i = 0; i < count; i++) lse[i] = numbers + 2 * i;
    args.lse = (float *const *)lse;
  }
  if (generator_below(generator, 2) == 0) args.sinks = place_sinks(generator, table->row_tile);
  places_watch();
  table->store(&args);
  for (int row = 0; row < count; row++) expect_row(table, &args, row);
  places_check(table->name, "store, %d rows of %d dims, %s, lse %d, sink %d", count, (int)dim, type_name(args.type),
               args.lse != NULL, args.sinks != NULL);
}

/* Outputs as decoding has them: rows, whose last vector is filled up with anything. */
static void try_store_rows(const fovea_kernels *table, struct generator *generator) {
  const int most = table->row_tile < FOVEA_DECODE_ROWS_LIMIT ? table->row_tile : FOVEA_DECODE_ROWS_LIMIT;
  const int count = random_size(generator, 1, most);
  const int64_t dim = random_size(generator, 1, 200), stride = (dim + 15) / 16 * 16;
  fovea_store_args args = {.state = place_state(table, generator, 1),
                           .row_stride = stride,
                           .dim = dim,
                           .row_count = count,
                           .type = random_type(generator)};
  args.state.output = place_floats(count * stride, random_numbers(generator));
  for (int row = 0; row < count; row++)
    for (int64_t d = 0; d < dim && args.state.row_sum[row] == 0.0f; d++) args.state.output[row * stride + d] = 0.0f;
  args.rows = (void *const *)place_results(generator, args.type, count, dim);
  if (generator_below(generator, 2) == 0) args.sinks = place_sinks(generator, table->row_tile);
  places_watch();
  table->store(&args);
  for (int row = 0; row < count; row++) expect_row(table, &args, row);
  places_check(table->name, "store, %d rows as they are, of %d dims, %s, sink %d", count, (int)dim,
               type_name(args.type), args.sinks != NULL);
}

static void test_store_rows(void **state) {
  (void)state;
  try_tables(whole_tables(), try_store_rows, USUAL_OR_LONG(60, 6000));
}

static void test_store(void **state) {
  (void)state;
  try_tables(whole_tables(), try_store, USUAL_OR_LONG(60, 6000));
}

/* Outputs only: maxima and sums cannot be read, and NaN and -0 are as in results. */
static void try_store_unnormalised(const fovea_kernels *table, struct generator *generator) {
  const int count = generator_below(generator, 5) == 0 ? 1 : random_size(generator, 1, table->row_tile);
  const int64_t dim = random_size(generator, 1, 200);
  fovea_store_args args = {.dim = dim, .row_count = count, .type = random_type(generator), .unnormalised = 1};
  args.state.output = place_floats(dim * table->row_tile, ANY);
  args.rows = (void *const *)place_results(generator, args.type, count, dim);
  places_watch();
  table->store(&args);
  for (int row = 0; row < count; row++) expect_output(table, &args, row);
  places_check(table->name, "store, unnormalised, %d rows of %d dims, %s", count, (int)dim, type_name(args.type));
}

static void test_store_unnormalised(void **state) {
  (void)state;
  try_tables(whole_tables(), try_store_unnormalised, USUAL_OR_LONG(40, 3000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_merge),
      cmocka_unit_test(test_store),
      cmocka_unit_test(test_store_rows),
      cmocka_unit_test(test_store_unnormalised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
