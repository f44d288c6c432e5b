#include "shaw_keys.h"
#include "../../arch/args/decode.h"

#include "shaw_distances.h"

#if FOVEA_BUILDS_TERMS

/* The products of some distances, which are in the place of scores, go where keys find them: the place of a key at
 * distance d from the first row is d + shaw.distance, and further on for later rows, which have lower distances. */
static void spread_products(const fovea_row_terms *terms, const fovea_tile *t, int64_t table,
                            fovea_interval distances, fovea_interval places) {
  const int64_t k = terms->plan->problem.shaw.distance, step = terms->plan->kernels->row_tile;
  const int64_t own = fovea_own_of(terms, t, 0);
  int64_t shift[FOVEA_ROW_TILE_LIMIT];
  int lanes[FOVEA_ROW_TILE_LIMIT], count = 0;
  for (int lane = 0; lane < t->visible.vectors * terms->plan->kernels->lanes; lane++) {
    if (!fovea_has_shaw_table(terms, t, lane, table)) continue;
    shift[count] = fovea_own_of(terms, t, lane) - own + k;
    lanes[count++] = lane;
  }
  for (int64_t place = places.begin; place < places.end; place++) {
    float *to = fovea_shaw_products(terms, t) + place * step;
    for (int i = 0; i < count; i++) {
      const int64_t distance = fovea_clip(place - shift[i], -k, k);
      if (distance >= distances.begin && distance < distances.end)
        to[lanes[i]] = t->layout.scores[(distance - distances.begin) * step + lanes[i]];
    }
  }
}

/* The products of a tile with up to a block of distances. */
static void multiply(const fovea_row_terms *terms, const fovea_tile *t, int64_t table, fovea_interval distances,
                     float *maxima) {
  const fovea_problem *problem = &terms->plan->problem;
  fovea_score_args args = {
      .queries = t->memory.queries,
      .keys = fovea_shaw_vector(problem, terms->shaw_keys, problem->qk_dim, fovea_shaw_head(terms, table),
                                distances.begin),
      .key_stride = problem->qk_dim,
      .dim = problem->qk_dim,
      .key_count = (int)(distances.end - distances.begin),
      .c = 1,
      .scores = t->layout.scores,
      .maxima = maxima,
      .vectors = {0, t->visible.vectors},
  };
  for (int i = 0; i < t->visible.vectors * terms->plan->kernels->lanes; i++) args.maxima[i] = 0;
  terms->plan->kernels->score(&args);
}

/* The distances that the tile sees. */
static fovea_distances distances_of(const fovea_row_terms *terms, const fovea_tile *t) {
  return fovea_distances_of(&terms->plan->problem, t->visible.any, fovea_own_of(terms, t, 0),
                            fovea_own_of(terms, t, t->rows.count - 1));
}

void fovea_multiply_shaw_keys(const fovea_row_terms *terms, fovea_tile *t, float *unused_maxima) {
  const fovea_distances seen = distances_of(terms, t);
  const int64_t k = terms->plan->problem.shaw.distance;
  const int64_t own = fovea_own_of(terms, t, 0), span = fovea_own_of(terms, t, t->rows.count - 1) - own;
  const int64_t low = fovea_clip(t->visible.any.begin - own + k, 0, 2 * k + span),
                high = fovea_clip(t->visible.any.end - 1 - own + k, 0, 2 * k + span);
  for (int64_t table = 0; table < fovea_shaw_tables(terms->plan); table++) {
    for (int64_t d = seen.first, next; d <= seen.last; d = next) {
      next = fovea_least(d + FOVEA_BLOCK_KEYS, seen.last + 1);
      const fovea_interval places = {d == seen.first ? low : fovea_most(low, d + k),
                                     next > seen.last ? high + 1 : fovea_least(high + 1, next + k + span)};
      multiply(terms, t, table, (fovea_interval){d, next}, unused_maxima);
      spread_products(terms, t, table, (fovea_interval){d, next}, places);
    }
  }
}

/* The products of `count` rows that are decoded, from `row` on, with up to a block of distances. */
static void multiply_decoded(const fovea_row_terms *terms, const fovea_tile *t, const float *queries, int row,
                             int count, fovea_interval distances) {
  const fovea_problem *problem = &terms->plan->problem;
  const int64_t stride = fovea_decode_stride(problem->qk_dim), width = fovea_shaw_vectors(problem);
  const void *vectors[FOVEA_BLOCK_KEYS];
  const int wanted = (int)(distances.end - distances.begin);
  for (int i = 0; i < (wanted + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS; i++) {
    vectors[i] = fovea_shaw_vector(problem, terms->shaw_keys, problem->qk_dim, t->places[row].head,
                                   fovea_least(distances.begin + i, distances.end - 1));
  }
  const fovea_decode_score_args args = {
      .queries = queries + row * stride,
      .query_stride = stride,
      .row_count = count,
      .keys = vectors,
      .prefetch = vectors,
      .type = FOVEA_F32,
      .dim = problem->qk_dim,
      .key_count = wanted,
      .c = 1,
      .scores = t->layout.scores,
  };
  terms->plan->kernels->decode_score(&args);
  for (int r = 0; r < count; r++) {
    float *to = fovea_shaw_products(terms, t) + (row + r) * width + problem->shaw.distance + distances.begin;
    for (int i = 0; i < wanted; i++) to[i] = t->layout.scores[r * FOVEA_BLOCK_KEYS + i];
  }
}

void fovea_decode_shaw_keys(const fovea_row_terms *terms, fovea_tile *t, const float *queries) {
  const fovea_distances seen = distances_of(terms, t);
  const int together = fovea_shaw_tables(terms->plan) == 1 ? t->rows.count : 1;
  for (int row = 0; row < t->rows.count; row += together) {
    for (int64_t d = seen.first, next; d <= seen.last; d = next) {
      next = fovea_least(d + FOVEA_BLOCK_KEYS, seen.last + 1);
      multiply_decoded(terms, t, queries, row, together, (fovea_interval){d, next});
    }
  }
}

/* The numbers of a row that is decoded. `first` is the key of the first product; keys before `near` have the number
 * of `near`, and keys after the last one the number of the last. */
static void place_row(const float *products, int64_t first, fovea_interval keys, fovea_interval near,
                      float *numbers) {
  for (int64_t key = keys.begin; key < near.begin; key++) numbers[key] = products[near.begin - first];
  for (int64_t key = near.begin; key < near.end; key++) numbers[key] = products[key - first];
  for (int64_t key = near.end; key < keys.end; key++) numbers[key] = products[near.end - 1 - first];
}

/* Row by row. */
static void place_decoded(const fovea_row_terms *terms, const fovea_tile *t, int64_t base, fovea_interval keys,
                          float *numbers) {
  const int64_t k = terms->plan->problem.shaw.distance;
  for (int row = 0; row < t->rows.count; row++, numbers += FOVEA_BLOCK_KEYS) {
    const float *products = fovea_shaw_products(terms, t) + row * (2 * k + 1);
    const int64_t first = fovea_own_of(terms, t, row) - base - k; /* the key at the lowest distance */
    const int64_t begin = fovea_most(keys.begin, t->visible.any.begin - base),
                  end = fovea_least(keys.end, t->visible.any.end - base);
    if (end <= first + 1 || begin >= first + 2 * k) { /* at most one distance */
      const float number = products[end <= first + 1 ? 0 : 2 * k];
      for (int64_t key = keys.begin; key < keys.end; key++) numbers[key] = number;
      continue;
    }
    /* Whole vectors may reach beyond the keys that were multiplied. */
    const fovea_interval near = {fovea_most(begin, first), fovea_least(end, first + 2 * k + 1)};
    place_row(products, first, keys, near, numbers);
  }
}

void fovea_place_shaw_keys(const fovea_row_terms *terms, const fovea_tile *t, int64_t base, fovea_interval keys,
                           fovea_shaw_numbers *numbers) {
  const int64_t k = terms->plan->problem.shaw.distance, own = fovea_own_of(terms, t, 0);
  if (!fovea_rows_lie_in_lanes(&t->layout)) {
    numbers->numbers = fovea_shaw_array(terms, FOVEA_SHAW_NUMBERS);
    numbers->step = FOVEA_BLOCK_KEYS;
    place_decoded(terms, t, base, keys, fovea_shaw_array(terms, FOVEA_SHAW_NUMBERS));
    return;
  }
  numbers->numbers = fovea_shaw_products(terms, t);
  numbers->step = terms->plan->kernels->row_tile;
  numbers->first = (int)fovea_clip(base - own + k, -FOVEA_SHAW_FAR, FOVEA_SHAW_FAR);
  numbers->last = (int)(2 * k + fovea_own_of(terms, t, t->rows.count - 1) - own);
}
#endif
