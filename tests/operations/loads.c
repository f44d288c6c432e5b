/* Loads of rows into a tile: load_rows(), widen(), widen_panel(). */
#include "operation.h"

/* Rows at any distance, in any order; or each alone at a page's end, if there is one. */
static const void **place_rows(struct generator *generator, fovea_type type, int count, int64_t dim) {
  const int64_t stride = dim + generator_below(generator, 3) * 5;
  const void **rows = place_pointers(count);
  const char *elements = place_elements(type, (count - 1) * stride + dim, random_numbers(generator));
  for (int i = 0; i < count; i++) rows[i] = element_at(type, elements, (count - 1 - i) * stride);
  return rows;
}

static void try_load_rows(const fovea_kernels *table, struct generator *generator) {
  const int count = generator_below(generator, 5) == 0 ? 1 : random_size(generator, 1, table->row_tile);
  const int64_t dim = random_size(generator, 1, 200), tile = table->row_tile;
  const fovea_type type = random_type(generator);
  const void **rows = place_rows(generator, type, count, dim);
  float *to = place_output(dim * tile);
  places_watch();
  table->load_rows(&(fovea_load_args){rows, type, count, dim, to});
  float *expected = shadow_of(to);
  for (int64_t d = 0; d < dim; d++)
    for (int row = 0; row < rounded_up(count, table->lanes); row++)
      expected[d * tile + row] = row < count ? element(type, rows[row], d) : 0.0f;
  places_check(table->name, "load_rows, %d rows of %d dims, %s", count, (int)dim, type_name(type));
}

static void test_load_rows(void **state) {
  (void)state;
  try_tables(whole_tables(), try_load_rows, USUAL_OR_LONG(60, 4000));
}

static void try_widen(const fovea_kernels *table, struct generator *generator) {
  const int rows = random_size(generator, 1, 40), dim = random_size(generator, 1, 200);
  const fovea_type type = random_type(generator);
  const int64_t stride = dim + generator_below(generator, 9);
  const int64_t to_stride = rounded_up(dim, 16) + 16 * generator_below(generator, 2);
  const void *from = place_elements(type, (rows - 1) * stride + dim, random_numbers(generator));
  float *to = place_output((rows - 1) * to_stride + rounded_up(dim, 16));
  places_watch();
  table->widen(&(fovea_widen_args){from, type, stride, rows, dim, to, to_stride});
  for (int row = 0; row < rows; row++) {
    float *expected = shadow_of(to + row * to_stride);
    for (int d = 0; d < dim; d++) expected[d] = element(type, from, row * stride + d);
    if (dim % 16 != 0) shadow_ignores(to + row * to_stride + dim, (rounded_up(dim, 16) - dim) * 4);
  }
  places_check(table->name, "widen, %d rows of %d dims, %s", rows, dim, type_name(type));
}

static void test_widen(void **state) {
  (void)state;
  try_tables(whole_tables(), try_widen, USUAL_OR_LONG(60, 4000));
}

/* The place of a dim of a key in a panel, in elements. */
static int64_t panel_place(fovea_type type, int64_t key, int64_t dim) {
  if (type == FOVEA_BF16) return (dim / 2 * FOVEA_PANEL_ROWS + key) * 2 + dim % 2;
  return dim * FOVEA_PANEL_ROWS + key;
}

static void try_widen_panel(const fovea_kernels *table, struct generator *generator) {
  const fovea_type type = random_type(generator);
  const int first = (int)generator_below(generator, FOVEA_PANEL_ROWS);
  const int rows = 1 + (int)generator_below(generator, FOVEA_PANEL_ROWS - first);
  const int dim = random_size(generator, 1, 200), stride = dim + (int)generator_below(generator, 9);
  const int64_t dims = type == FOVEA_BF16 ? rounded_up(dim, 2) : dim;
  const void *panel = place_elements(type, dims * FOVEA_PANEL_ROWS, random_numbers(generator));
  float *to = place_output((rows - 1) * stride + dim);
  places_watch();
  table->widen_panel(&(fovea_widen_panel_args){panel, type, first, rows, dim, to, stride});
  float *expected = shadow_of(to);
  for (int row = 0; row < rows; row++)
    for (int d = 0; d < dim; d++)
      expected[row * stride + d] = element(type, panel, panel_place(type, first + row, d));
  places_check(table->name, "widen_panel, keys %d to %d, %d dims, %s", first, first + rows - 1, dim,
               type_name(type));
}

static void test_widen_panel(void **state) {
  (void)state;
  try_tables(whole_tables(), try_widen_panel, USUAL_OR_LONG(60, 4000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_load_rows),
      cmocka_unit_test(test_widen),
      cmocka_unit_test(test_widen_panel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
