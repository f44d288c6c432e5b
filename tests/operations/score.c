/* Scores of a tile: score(); and load_pairs(), pairs_safe() and score_pairs() together, since only they know the
 * layout of pairs. */
#include "operation.h"

/* Makes scores of the dot products, on the shadows: scales them, hides keys, takes maxima. */
static void expect_scores(const fovea_kernels *table, const fovea_score_args *args, const float *products) {
  float *scores = shadow_of(args->scores), *maxima = shadow_of(args->maxima);
  for (int row = first_row(table, args->vectors); row < end_row(table, args->vectors); row++)
    for (int key = 0; key < args->key_count; key++) {
      float score = products[key * table->row_tile + row] * args->c;
      if (args->seen_from != NULL && (key < args->seen_from[row] || key >= args->seen_to[row])) score = -INFINITY;
      scores[key * table->row_tile + row] = score;
      maxima[row] = maximum_of(maxima[row], score);
    }
  shadow_takes_zeros(args->maxima, table->row_tile);
}

/* Arguments other than queries, keys and their types. */
static fovea_score_args place_scores(const fovea_kernels *table, struct generator *generator) {
  fovea_score_args args = {
      .dim = random_size(generator, 1, 300),
      .key_count = random_size(generator, 1, FOVEA_BLOCK_KEYS),
      .c = generator_uniform(generator) * 3.0f,
      .vectors = random_vectors(table, generator),
  };
  if (args.dim > 200 && args.key_count > 40) args.dim /= 2;
  args.key_stride = args.dim + generator_below(generator, 2) * generator_below(generator, 20);
  args.scores = place_output((int64_t)args.key_count * table->row_tile);
  args.maxima = place_floats(table->row_tile, ORDINARY);
  for (int row = 0; row < table->row_tile; row++)
    if (generator_below(generator, 3) > 0) args.maxima[row] = -INFINITY;
  if (generator_below(generator, 3) == 0) {
    int32_t *to;
    args.seen_from = place_limits(generator, table->row_tile, args.key_count, &to);
    args.seen_to = to;
  }
  return args;
}

/* Rows to prefetch. Results do not depend on them: they may lie anywhere, and no byte is read. */
static void place_prefetch(struct generator *generator, fovea_score_args *args) {
  args->prefetch_count = (int)generator_below(generator, 6);
  fovea_fetch_row *rows = (fovea_fetch_row *)(void *)place_bytes(args->prefetch_count * (int64_t)sizeof *rows);
  for (int i = 0; i < args->prefetch_count; i++)
    rows[i] = (fovea_fetch_row){(const char *)args->keys, generator_below(generator, 3000)};
  args->prefetch = rows;
}

static void try_score(const fovea_kernels *table, struct generator *generator) {
  static float products[FOVEA_BLOCK_KEYS * FOVEA_ROW_TILE_LIMIT];
  const int tile = table->row_tile;
  fovea_score_args args = place_scores(table, generator);
  const enum numbers numbers = random_numbers(generator);
  const float *keys = place_floats((args.key_count - 1) * args.key_stride + args.dim, numbers);
  args.queries = place_floats(args.dim * tile, numbers);
  args.keys = keys;
  place_prefetch(generator, &args);
  places_watch();
  table->score(&args);
  for (int row = first_row(table, args.vectors); row < end_row(table, args.vectors); row++) {
    float query[300];
    for (int64_t d = 0; d < args.dim; d++) query[d] = args.queries[d * tile + row];
    for (int key = 0; key < args.key_count; key++)
      products[key * tile + row] = dot_product(query, keys + key * args.key_stride, args.dim);
  }
  expect_scores(table, &args, products);
  places_check(table->name, "score, %d keys of %d dims, vectors %d+%d, seen_from %d", args.key_count, (int)args.dim,
               args.vectors.first, args.vectors.count, args.seen_from != NULL);
}

static void test_score(void **state) {
  (void)state;
  try_tables(whole_tables(), try_score, USUAL_OR_LONG(25, 1500));
}

/* Elements for which every instruction is right: zeros, and numbers far from subnormal. Now and then there are
 * others. */
static uint16_t *place_halves(struct generator *generator, fovea_type type, int64_t count, int *ordinary) {
  *ordinary = generator_below(generator, 3) > 0;
  uint16_t *halves = place_elements(type, count, *ordinary ? ORDINARY : FINITE);
  for (int64_t i = 0; i < count; i++) {
    const float x = generator_uniform(generator);
    if (*ordinary) halves[i] = rounded(type, fabsf(x) < 0x1p-10f ? 0.0f : x);
    if (!*ordinary && generator_below(generator, 4) > 0) halves[i] = rounded(type, ldexpf(x, -30));
  }
  return halves;
}

static void try_pairs(const fovea_kernels *table, struct generator *generator) {
  static float products[FOVEA_BLOCK_KEYS * FOVEA_ROW_TILE_LIMIT];
  const int tile = table->row_tile, count = random_size(generator, 1, tile);
  const fovea_type type = table->pair_type;
  fovea_score_args args = place_scores(table, generator);
  const int64_t dim = args.dim, stride = dim + generator_below(generator, 5);
  int ordinary_rows, ordinary_keys;
  const uint16_t *elements = place_halves(generator, type, (count - 1) * stride + dim, &ordinary_rows);
  const uint16_t *keys =
      place_halves(generator, type, (args.key_count - 1) * args.key_stride + dim, &ordinary_keys);
  const void **rows = place_pointers(count);
  for (int i = 0; i < count; i++) rows[i] = elements + i * stride;
  float *queries = place_output((dim + 1) / 2 * tile);
  args.queries = queries;
  args.keys = keys;
  args.vectors = (fovea_vector_range){0, rounded_up(count, table->lanes) / table->lanes};
  places_watch();
  const int safe_rows = table->load_pairs(&(fovea_load_args){rows, type, count, dim, queries});
  const int safe_keys = table->pairs_safe(&(fovea_widen_args){
      .rows = keys, .type = type, .row_stride = args.key_stride, .row_count = args.key_count, .dim = dim});
  for (int64_t pair = 0; pair < (dim + 1) / 2; pair++)
    shadow_ignores(queries + pair * tile, (int64_t)args.vectors.count * table->lanes * 4);
  places_check(table->name, "load_pairs, %d rows of %d dims", count, (int)dim);
  if (ordinary_rows) assert_true(safe_rows);
  if (ordinary_keys) assert_true(safe_keys);
  if (!safe_rows || !safe_keys) return;
  table->score_pairs(&args);
  for (int row = 0; row < args.vectors.count * table->lanes; row++)
    for (int key = 0; key < args.key_count; key++) {
      float q[300], k[300];
      for (int64_t d = 0; d < dim; d++) {
        q[d] = row < count ? element(type, rows[row], d) : 0.0f;
        k[d] = element(type, keys, key * args.key_stride + d);
      }
      products[key * tile + row] = dot_product(q, k, dim);
    }
  expect_scores(table, &args, products);
  places_check(table->name, "score_pairs, %d keys of %d dims, %d rows, seen_from %d", args.key_count, (int)dim,
               count, args.seen_from != NULL);
}

static void test_pairs(void **state) {
  (void)state;
  if (*pair_tables() == NULL) skip();
  try_tables(pair_tables(), try_pairs, USUAL_OR_LONG(15, 500));
}

/* Each element of one key in turn is too small for VDPBF16PS. Some table must report that. */
static void try_unsafe(const fovea_kernels *table, struct generator *generator) {
  const int dim = random_size(generator, 1, 70), at = (int)generator_below(generator, dim);
  uint16_t *row = place_elements(table->pair_type, dim, ORDINARY);
  for (int i = 0; i < dim; i++) row[i] = rounded(table->pair_type, 1.0f);
  row[at] = 0x0001;
  const void **rows = place_pointers(1);
  rows[0] = row;
  float *queries = place_output((dim + 1) / 2 * (int64_t)table->row_tile);
  const fovea_widen_args keys = {
      .rows = row, .type = table->pair_type, .row_stride = dim, .row_count = 1, .dim = dim};
  const int safe_row = table->load_pairs(&(fovea_load_args){rows, table->pair_type, 1, dim, queries});
  assert_int_equal(safe_row, table->pairs_safe(&keys));
  row[at] = 0;
  assert_true(table->pairs_safe(&keys));
  if (safe_row && strncmp(table->name, "avx512", 6) == 0) fail_msg("%s takes a subnormal at %d", table->name, at);
}

static void test_unsafe_pairs(void **state) {
  (void)state;
  if (*pair_tables() == NULL) skip();
  try_tables(pair_tables(), try_unsafe, USUAL_OR_LONG(100, 1000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_score),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_unsafe_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
