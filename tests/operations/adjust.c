/* Scores after the products, and what a scan tells of a mask before: adjust(), scan_mask(). */
#include "contract.h"
#include "masks.h"
#include "terms.h"

static void expect_adjusted(const fovea_kernels *table, const fovea_adjust_args *args) {
  const int tile = table->row_tile;
  float *scores = shadow_of(args->scores), *maxima = shadow_of(args->maxima);
  for (int row = first_row(table, args->vectors); row < end_row(table, args->vectors); row++)
    for (int key = 0; key < args->key_count; key++) {
      float *score = &scores[key * tile + row];
      *score = leaky_score(args->terms, *score);
      *score = scaled_score(args->tile_terms, 0, row, args->key + key, *score);
      if (args->terms->capped) *score = args->terms->cap * contract_tanh(*score);
      *score = placed_score(args->tile_terms, 0, row, args->key + key, *score, args->terms->unit);
      if (args->mask != NULL) {
        const float bias = mask_bias(args->mask, row, args->key + key);
        *score = biased_score(*score, bias, args->terms->unit);
      }
      if (args->seen_from != NULL && (key < args->seen_from[row] || key >= args->seen_to[row])) *score = -INFINITY;
      maxima[row] = maximum_of(maxima[row], *score);
    }
  shadow_takes_zeros(args->maxima, tile);
}

static void try_adjust(const fovea_kernels *table, struct generator *generator) {
  const int tile = table->row_tile, what = 1 + (int)generator_below(generator, 15);
  const int key = (int)generator_below(generator, 2) * (int)generator_below(generator, 100);
  const int key_count = random_size(generator, 1, FOVEA_BLOCK_KEYS - key);
  fovea_score_terms terms = {
      .capped = what & 1,
      .cap = 1.0f + fabsf(generator_uniform(generator)) * 50.0f,
      .adjusted = what & 1,
      .unit = random_unit(generator),
  };
  add_leaky(&terms, generator);
  fovea_adjust_args args = {
      .scores = place_floats((int64_t)key_count * tile, random_numbers(generator)),
      .terms = &terms,
      .key = key,
      .key_count = key_count,
      .vectors = random_vectors(table, generator),
      .maxima = place_floats(tile, ORDINARY),
  };
  for (int row = 0; row < tile; row++)
    if (generator_below(generator, 3) > 0) args.maxima[row] = -INFINITY;
  fovea_mask_tile mask;
  fovea_tile_terms own = {.count = 0};
  if (what & 8) {
    own = place_terms(generator, tile, 0);
    args.tile_terms = &own;
  }
  if (what & 2) {
    mask = place_mask(generator, tile, random_size(generator, key + key_count, FOVEA_BLOCK_KEYS));
    args.mask = &mask;
  }
  if (what & 4) {
    int32_t *to;
    args.seen_from = place_limits(generator, tile, key_count, &to);
    args.seen_to = to;
  }
  places_watch();
  table->adjust(&args);
  expect_adjusted(table, &args);
  places_check(table->name,
               "adjust, keys %d to %d, vectors %d+%d, leaky %d, scales %d, capped %d, positions %d, mask type %d, "
               "seen_from %d",
               key, key + key_count - 1, args.vectors.first, args.vectors.count, args.terms->leaky,
               own.scales != NULL, args.terms->capped, own.count, (what & 2) ? (int)mask.type : 0,
               args.seen_from != NULL);
}

static void test_adjust(void **state) {
  (void)state;
  try_tables(whole_tables(), try_adjust, USUAL_OR_LONG(40, 4000));
}

/* What a mask says about keys first to last for the rows of a vector. */
struct piece {
  int shown, plain; /* some row may see a key; all rows see all keys, and nothing is added */
};

static struct piece piece_of(const fovea_mask_tile *mask, int row, int rows, int first, int last) {
  struct piece piece = {0, 1};
  for (int end = row + rows; row < end; row++)
    for (int key = first; key <= last; key++) {
      const float bias = mask_bias(mask, row, key);
      piece.shown |= bias != -INFINITY;
      piece.plain &= bias == 0.0f;
    }
  return piece;
}

/* Pieces that are hidden at the mask's edge, or in a mask that repeats, may count as visible. In a mask of bits,
 * the bits that fill up the last byte may keep a piece from being plain. */
static void check_pieces(const fovea_kernels *table, const fovea_mask_tile *mask, int vector,
                         fovea_mask_pieces pieces) {
  for (int p = 0; p * FOVEA_MASK_PIECE < FOVEA_BLOCK_KEYS; p++) {
    const int first = p * FOVEA_MASK_PIECE, whole = first + FOVEA_MASK_PIECE <= mask->key_count;
    const int last = whole ? first + FOVEA_MASK_PIECE - 1 : mask->key_count - 1;
    const struct piece expected = piece_of(mask, vector * table->lanes, table->lanes, first, last);
    const int seen = pieces.seen >> p & 1, plain = pieces.plain >> p & 1;
    const int may_be_seen = expected.shown || (first <= last && (!whole || mask->repeats));
    const int padded = mask->type == FOVEA_MASK_BITS && may_be_seen && (!whole || mask->repeats);
    const int must_be_plain = expected.plain && !padded;
    if ((plain && !expected.plain) || (must_be_plain && !plain) || (expected.shown && !seen) ||
        (seen && !may_be_seen))
      fail_msg("%s: scan_mask() of type %d, %d keys, repeats %d: piece %d of vector %d is seen %d, plain %d",
               table->name, (int)mask->type, mask->key_count, mask->repeats, p, vector, seen, plain);
  }
}

static void try_scan_mask(const fovea_kernels *table, struct generator *generator) {
  const int vectors = 1 + (int)generator_below(generator, vectors_of(table));
  const fovea_mask_tile mask =
      place_mask(generator, vectors * table->lanes, random_size(generator, 1, FOVEA_BLOCK_KEYS));
  fovea_mask_pieces *pieces = (fovea_mask_pieces *)place_bytes(vectors * (int64_t)sizeof *pieces);
  places_watch();
  table->scan_mask(&mask, vectors, pieces);
  for (int v = 0; v < vectors; v++) check_pieces(table, &mask, v, pieces[v]);
  shadow_ignores(pieces, vectors * (int64_t)sizeof *pieces);
  places_check(table->name, "scan_mask, type %d, %d keys", (int)mask.type, mask.key_count);
}

static void test_scan_mask(void **state) {
  (void)state;
  try_tables(whole_tables(), try_scan_mask, USUAL_OR_LONG(100, 8000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adjust),
      cmocka_unit_test(test_scan_mask),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
