/* Sums of weights by the distance of keys: shaw_sums(). */
#include "../../arch/args/terms.h"
#include "operation.h"

static int clipped(int d, int distance) {
  return d < -distance ? -distance : d > distance ? distance : d;
}

static void expect_sums(const fovea_kernels *table, const fovea_shaw_sums_args *args) {
  const int tile = table->row_tile;
  float *sums = shadow_of(args->sums);
  for (int row = first_row(table, args->vectors); row < end_row(table, args->vectors); row++) {
    for (int i = 0; i < args->count; i++) sums[i * tile + row] = 0.0f;
    for (int key = args->key_begin[row / table->lanes]; key < args->key_end[row / table->lanes]; key++)
      sums[(clipped(key - args->own[row], args->distance) - args->first) * tile + row] +=
          args->weights[key * tile + row];
  }
  shadow_takes_zeros(args->sums, (int64_t)args->count * tile);
}

/* Keys of all vectors, or of each; own keys that ascend, as they do in a tile, or any, near the block or far. */
static void try_sums(const fovea_kernels *table, struct generator *generator) {
  const int tile = table->row_tile, alike = (int)generator_below(generator, 2);
  const int distance = random_size(generator, 1, generator_below(generator, 2) ? 20 : 300);
  const fovea_vector_range vectors = random_vectors(table, generator);
  int begin[FOVEA_CHANNELS_LIMIT] = {0}, end[FOVEA_CHANNELS_LIMIT] = {0};
  for (int v = 0; v < vectors_of(table); v++) {
    begin[v] = alike && v > 0 ? begin[0] : (int)generator_below(generator, FOVEA_BLOCK_KEYS);
    end[v] = alike && v > 0 ? end[0] : begin[v] + random_size(generator, 0, FOVEA_BLOCK_KEYS - begin[v]);
  }
  int32_t *own = place_integers(tile);
  const int32_t base = (int32_t)generator_below(generator, 1000) - 500;
  for (int row = 0; row < tile; row++) own[row] = base + row / (1 + distance % 3);
  int first = distance, last = -distance;
  for (int row = first_row(table, vectors); row < end_row(table, vectors); row++)
    for (int key = begin[row / table->lanes]; key < end[row / table->lanes]; key++) {
      const int d = clipped(key - own[row], distance);
      first = d < first ? d : first;
      last = d > last ? d : last;
    }
  if (last < first) return;
  const fovea_shaw_sums_args args = {
      .weights = place_floats((int64_t)FOVEA_BLOCK_KEYS * tile, random_numbers(generator)),
      .vectors = vectors,
      .key_begin = begin,
      .key_end = end,
      .own = own,
      .distance = distance,
      .first = first,
      .count = last - first + 1,
      .sums = place_output((int64_t)(last - first + 1) * tile),
  };
  places_watch();
  table->shaw_sums(&args);
  expect_sums(table, &args);
  places_check(table->name, "shaw_sums, distance %d, sums %d+%d, vectors %d+%d, own %d, keys %d to %d", distance,
               first, args.count, vectors.first, vectors.count, (int)base, begin[0], end[0]);
}

static void test_sums(void **state) {
  (void)state;
  try_tables(whole_tables(), try_sums, USUAL_OR_LONG(40, 4000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
