#include "shaw_keys.h"

#include "operands.h"
#include "shaw_distances.h"

/* The products of some distances, which are in the place of scores, go where keys find them: the place of a key at
 * distance d from the first row is d + shaw_distance, and further on for later rows, which have lower distances. */
static void spread_products(const fovea_task_context *context, const fovea_tile *t, int64_t table,
                            fovea_interval distances, fovea_interval places) {
  const int64_t k = context->plan->problem.shaw_distance, step = context->kernels->row_tile;
  const int64_t own = fovea_own_of(context, t, 0);
  int64_t shift[FOVEA_ROW_TILE_LIMIT];
  int lanes[FOVEA_ROW_TILE_LIMIT], count = 0;
  for (int lane = 0; lane < t->visible.vectors * context->kernels->lanes; lane++) {
    if (!fovea_has_shaw_table(context, t, lane, table)) continue;
    shift[count] = fovea_own_of(context, t, lane) - own + k;
    lanes[count++] = lane;
  }
  for (int64_t place = places.begin; place < places.end; place++) {
    float *to = fovea_shaw_products(context, t) + place * step;
    for (int i = 0; i < count; i++) {
      const int64_t distance = fovea_clip(place - shift[i], -k, k);
      if (distance >= distances.begin && distance < distances.end)
        to[lanes[i]] = context->memory.scores[(distance - distances.begin) * step + lanes[i]];
    }
  }
}

/* The products of a tile with up to a block of distances. */
static void multiply(const fovea_task_context *context, const fovea_tile *t, int64_t table,
                     fovea_interval distances) {
  const fovea_problem *problem = &context->plan->problem;
  fovea_score_args args = {
      .queries = t->memory.queries,
      .keys = fovea_shaw_vector(context, context->tensors->shaw_keys, problem->qk_dim,
                                fovea_shaw_head(context, table), distances.begin),
      .key_stride = problem->qk_dim,
      .dim = problem->qk_dim,
      .key_count = (int)(distances.end - distances.begin),
      .c = 1,
      .scores = context->memory.scores,
      .maxima = context->memory.unused,
      .vectors = {0, t->visible.vectors},
  };
  for (int i = 0; i < t->visible.vectors * context->kernels->lanes; i++) args.maxima[i] = 0;
  context->kernels->score(&args);
}

/* All distances that the tile sees. */
static void read_tile(const fovea_task_context *context, fovea_tile *t, fovea_distances seen) {
  const int64_t k = context->plan->problem.shaw_distance;
  const int64_t own = fovea_own_of(context, t, 0), span = fovea_own_of(context, t, t->rows.count - 1) - own;
  const int64_t low = fovea_clip(t->visible.any.begin - own + k, 0, 2 * k + span),
                high = fovea_clip(t->visible.any.end - 1 - own + k, 0, 2 * k + span);
  fovea_widen_queries(context, t);
  for (int64_t table = 0; table < fovea_shaw_tables(context->plan); table++) {
    for (int64_t d = seen.first, next; d <= seen.last; d = next) {
      next = fovea_least(d + FOVEA_BLOCK_KEYS, seen.last + 1);
      const fovea_interval places = {d == seen.first ? low : fovea_most(low, d + k),
                                     next > seen.last ? high + 1 : fovea_least(high + 1, next + k + span)};
      multiply(context, t, table, (fovea_interval){d, next});
      spread_products(context, t, table, (fovea_interval){d, next}, places);
    }
  }
}

/* The products of `count` rows that are decoded, from `row` on, with up to a block of distances. */
static void multiply_decoded(const fovea_task_context *context, const fovea_tile *t, int row, int count,
                             fovea_interval distances) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_decode_memory *memory = &context->decode->memory;
  const int64_t stride = fovea_decode_stride(problem->qk_dim), width = fovea_shaw_vectors(problem);
  const void *vectors[FOVEA_BLOCK_KEYS];
  const int wanted = (int)(distances.end - distances.begin);
  for (int i = 0; i < (wanted + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS; i++) {
    vectors[i] = fovea_shaw_vector(context, context->tensors->shaw_keys, problem->qk_dim, t->places[row].head,
                                   fovea_least(distances.begin + i, distances.end - 1));
  }
  const fovea_decode_score_args args = {
      .queries = memory->queries + row * stride,
      .query_stride = stride,
      .row_count = count,
      .keys = vectors,
      .prefetch = vectors,
      .type = FOVEA_F32,
      .dim = problem->qk_dim,
      .key_count = wanted,
      .c = 1,
      .scores = memory->scores,
  };
  context->kernels->decode_score(&args);
  for (int r = 0; r < count; r++) {
    float *to = fovea_shaw_products(context, t) + (row + r) * width + problem->shaw_distance + distances.begin;
    for (int i = 0; i < wanted; i++) to[i] = memory->scores[r * FOVEA_BLOCK_KEYS + i];
  }
}

void fovea_read_shaw_keys(fovea_task_context *context, fovea_tile *t) {
  const fovea_distances seen = fovea_distances_of(context, t->visible.any, fovea_own_of(context, t, 0),
                                                  fovea_own_of(context, t, t->rows.count - 1));
  if (!t->decoded) {
    read_tile(context, t, seen);
    return;
  }
  const int together = fovea_shaw_tables(context->plan) == 1 ? t->rows.count : 1;
  for (int row = 0; row < t->rows.count; row += together) {
    for (int64_t d = seen.first, next; d <= seen.last; d = next) {
      next = fovea_least(d + FOVEA_BLOCK_KEYS, seen.last + 1);
      multiply_decoded(context, t, row, together, (fovea_interval){d, next});
    }
  }
}

/* The numbers of a row that is decoded. `first` is the key of the first product; keys before `near` have that of
 * `near`, and those after it that of the last one. */
static void place_row(const float *products, int64_t first, fovea_interval keys, fovea_interval near,
                      float *numbers) {
  for (int64_t key = keys.begin; key < near.begin; key++) numbers[key] = products[near.begin - first];
  for (int64_t key = near.begin; key < near.end; key++) numbers[key] = products[key - first];
  for (int64_t key = near.end; key < keys.end; key++) numbers[key] = products[near.end - 1 - first];
}

/* Row by row. */
static void place_decoded(const fovea_task_context *context, const fovea_tile *t, fovea_interval keys,
                          float *numbers) {
  const int64_t k = context->plan->problem.shaw_distance;
  for (int row = 0; row < t->rows.count; row++, numbers += FOVEA_BLOCK_KEYS) {
    const float *products = fovea_shaw_products(context, t) + row * (2 * k + 1);
    const int64_t first =
        fovea_own_of(context, t, row) - context->walk.block - k; /* the key at the lowest distance */
    const int64_t begin = fovea_most(keys.begin, t->visible.any.begin - context->walk.block),
                  end = fovea_least(keys.end, t->visible.any.end - context->walk.block);
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

void fovea_place_shaw_keys(const fovea_task_context *context, const fovea_tile *t, fovea_interval keys,
                           fovea_shaw_numbers *numbers) {
  const int64_t k = context->plan->problem.shaw_distance, own = fovea_own_of(context, t, 0);
  if (t->decoded) {
    numbers->numbers = fovea_shaw_array(context, FOVEA_SHAW_NUMBERS);
    numbers->step = FOVEA_BLOCK_KEYS;
    place_decoded(context, t, keys, fovea_shaw_array(context, FOVEA_SHAW_NUMBERS));
    return;
  }
  numbers->numbers = fovea_shaw_products(context, t);
  numbers->step = context->kernels->row_tile;
  numbers->first = (int)fovea_clip(context->walk.block - own + k, -FOVEA_SHAW_FAR, FOVEA_SHAW_FAR);
  numbers->last = (int)(2 * k + fovea_own_of(context, t, t->rows.count - 1) - own);
}
