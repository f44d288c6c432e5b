#include "shaw.h"

#include "operands.h"

static int64_t clip(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

/* The position of the own key of a row. Lanes of padding follow the last row. */
static int64_t own_of(const fovea_task_context *context, const fovea_tile *t, int lane) {
  return t->places[lane < t->rows.count ? lane : t->rows.count - 1].row + context->task->entry->offset;
}

/* Distances `first` to `last`, from -shaw_distance to shaw_distance. */
typedef struct distance_range {
  int64_t first, last;
} distance_range;

/* Those of keys at the positions `keys` from rows whose own keys are at first_own to last_own. */
static distance_range distances_of(const fovea_task_context *context, fovea_interval keys, int64_t first_own,
                                   int64_t last_own) {
  const int64_t k = context->plan->problem.shaw_distance;
  return (distance_range){clip(keys.begin - last_own, -k, k), clip(keys.end - 1 - first_own, -k, k)};
}

/* The vector of a distance in a head's table. */
static const float *vector_of(const fovea_task_context *context, const float *table, int64_t dim, int64_t head,
                              int64_t distance) {
  const fovea_problem *problem = &context->plan->problem;
  const int64_t first = problem->shaw_heads == 1 ? 0 : head * fovea_shaw_vectors(problem);
  return table + (first + problem->shaw_distance + distance) * dim;
}

/* How many tables the rows of a tile have. */
static int64_t tables_of(const fovea_plan *plan) {
  return plan->problem.shaw_heads == 1 ? 1 : plan->group;
}

static int64_t head_at(const fovea_task_context *context, int64_t table) {
  return context->task->kv_head * context->plan->group + table;
}

/* Whether a row has the table of this number of its group. */
static int has_table(const fovea_task_context *context, const fovea_tile *t, int lane, int64_t table) {
  const fovea_row_place place = t->places[lane < t->rows.count ? lane : t->rows.count - 1];
  return tables_of(context->plan) == 1 || place.head == head_at(context, table);
}

/* One of the arrays of a block. */
static float *array_of(const fovea_task_context *context, int array) {
  return context->memory.shaw + (uint64_t)array * fovea_shaw_floats((uint64_t)context->kernels->row_tile);
}
enum { SUMS, SUMS_OF_HEAD, HIDDEN, NUMBERS = SUMS_OF_HEAD };

/* ---- Keys. */

/* The products of some distances, which are in the place of scores, go where keys find them: the place of a key at
 * distance d from the first row is d + shaw_distance, and further on for later rows, which have lower distances. */
static void spread_products(const fovea_task_context *context, const fovea_tile *t, int64_t table,
                            fovea_interval distances, fovea_interval places) {
  const int64_t k = context->plan->problem.shaw_distance, step = context->kernels->row_tile;
  const int64_t own = own_of(context, t, 0);
  int64_t shift[FOVEA_ROW_TILE_LIMIT];
  int lanes[FOVEA_ROW_TILE_LIMIT], count = 0;
  for (int lane = 0; lane < t->view.vectors * context->kernels->lanes; lane++) {
    if (!has_table(context, t, lane, table)) continue;
    shift[count] = own_of(context, t, lane) - own + k;
    lanes[count++] = lane;
  }
  for (int64_t place = places.begin; place < places.end; place++) {
    float *to = t->memory.shaw + place * step;
    for (int i = 0; i < count; i++) {
      const int64_t distance = clip(place - shift[i], -k, k);
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
      .keys = vector_of(context, context->tensors->shaw_keys, problem->qk_dim, head_at(context, table),
                        distances.begin),
      .key_stride = problem->qk_dim,
      .dim = problem->qk_dim,
      .key_count = (int)(distances.end - distances.begin),
      .c = 1,
      .scores = context->memory.scores,
      .maxima = context->memory.unused,
      .vectors = {0, t->view.vectors},
  };
  for (int i = 0; i < t->view.vectors * context->kernels->lanes; i++) args.maxima[i] = 0;
  context->kernels->score(&args);
}

/* All distances that the tile sees. */
static void read_tile(const fovea_task_context *context, fovea_tile *t, distance_range seen) {
  const int64_t k = context->plan->problem.shaw_distance;
  const int64_t own = own_of(context, t, 0), span = own_of(context, t, t->rows.count - 1) - own;
  const int64_t low = clip(t->view.any.begin - own + k, 0, 2 * k + span),
                high = clip(t->view.any.end - 1 - own + k, 0, 2 * k + span);
  fovea_widen_queries(context, t);
  for (int64_t table = 0; table < tables_of(context->plan); table++) {
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
    vectors[i] = vector_of(context, context->tensors->shaw_keys, problem->qk_dim, t->places[row].head,
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
    float *to = t->memory.shaw + (row + r) * width + problem->shaw_distance + distances.begin;
    for (int i = 0; i < wanted; i++) to[i] = memory->scores[r * FOVEA_BLOCK_KEYS + i];
  }
}

void fovea_read_shaw_keys(fovea_task_context *context, fovea_tile *t) {
  const distance_range seen =
      distances_of(context, t->view.any, own_of(context, t, 0), own_of(context, t, t->rows.count - 1));
  if (!t->decoded) {
    read_tile(context, t, seen);
    return;
  }
  const int together = tables_of(context->plan) == 1 ? t->rows.count : 1;
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
    const float *products = t->memory.shaw + row * (2 * k + 1);
    const int64_t first = own_of(context, t, row) - context->walk.block - k; /* the key at the lowest distance */
    const int64_t begin = fovea_most(keys.begin, t->view.any.begin - context->walk.block),
                  end = fovea_least(keys.end, t->view.any.end - context->walk.block);
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
  enum { FAR = 1 << 24 };
  const int64_t k = context->plan->problem.shaw_distance, own = own_of(context, t, 0);
  if (t->decoded) {
    numbers->numbers = array_of(context, NUMBERS);
    numbers->step = FOVEA_BLOCK_KEYS;
    place_decoded(context, t, keys, array_of(context, NUMBERS));
    return;
  }
  numbers->numbers = t->memory.shaw;
  numbers->step = context->kernels->row_tile;
  numbers->first = (int)clip(context->walk.block - own + k, -FAR, FAR);
  numbers->last = (int)(2 * k + own_of(context, t, t->rows.count - 1) - own);
}

/* ---- Values. */

/* Whether a row sees a key of the block, counted from its first. */
static int sees(const fovea_tile *t, const fovea_sight *sight, const fovea_position_block *positions, int row,
                int key) {
  if (key < sight->view.from[row] || key >= sight->view.to[row]) return 0;
  if (sight->mask.present && fovea_mask_hides(&sight->mask.tile, row, key)) return 0;
  return !positions->hides || !fovea_positions_hide(t, positions, row, key);
}

/* Whether a row sees a key of the block at this distance. */
static int sees_distance(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight,
                         const fovea_position_block *positions, int row, int64_t distance) {
  const int64_t k = context->plan->problem.shaw_distance;
  const int64_t key = own_of(context, t, row) + distance - context->walk.block;
  const int first = (int)(distance == -k ? 0 : clip(key, 0, FOVEA_BLOCK_KEYS)),
            end = (int)(distance == k ? FOVEA_BLOCK_KEYS : clip(key + 1, 0, FOVEA_BLOCK_KEYS));
  for (int j = first; j < end; j++) {
    if (sees(t, sight, positions, row, j)) return 1;
  }
  return 0;
}

/* The vectors of some distances, of one table, and the sums of weights for them. */
typedef struct shaw_values {
  const float *sums, *vectors;
  int64_t stride; /* from vector to vector */
  int64_t first, table;
  int count;
} shaw_values;

/* -Inf where a row sees no key at a distance, or has another table. */
static void hide_distances(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight,
                           const fovea_position_block *positions, const shaw_values *values,
                           const void **rows) {
  float *hidden = array_of(context, HIDDEN);
  for (int lane = 0; lane < t->view.vectors * context->kernels->lanes; lane++, hidden += FOVEA_BLOCK_KEYS) {
    const int row = lane < t->rows.count ? lane : t->rows.count - 1;
    rows[lane] = hidden;
    for (int i = 0; i < values->count; i++) {
      const int seen = has_table(context, t, row, values->table) &&
                       sees_distance(context, t, sight, positions, row, values->first + i);
      hidden[i] = seen ? 0 : -__builtin_inff();
    }
  }
}

/* Adds up to a block of distances. `flags`: whether they are the last. */
static void add_values(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                       const fovea_sight *sight, const shaw_values *values, const fovea_mask_tile *hidden,
                       int flags) {
  const fovea_block_view *view = &sight->view;
  const int64_t dim = context->plan->problem.v_dim;
  for (int v = 0, run; v < t->view.vectors; v += run) {
    run = 1;
    if (view->begin[v] == view->end[v]) continue;
    while (v + run < t->view.vectors && view->begin[v + run] != view->end[v + run]) run++;
    const fovea_value_args args = {
        .weights = values->sums,
        .values = values->vectors,
        .value_stride = values->stride,
        .dim = dim,
        .key_count = values->count,
        .flags = flags,
        .partial = context->memory.partial,
        .output = state->output,
        .old_part = context->memory.old_part,
        .new_part = context->memory.new_part,
        .vectors = {v, run},
        .maxima = context->memory.maxima,
        .block_sum = context->memory.block_sum,
        .mask = hidden,
    };
    (hidden ? context->kernels->value_careful : context->kernels->value)(&args);
  }
}

/* Adds the vectors of one table, for distances in ascending order. */
static void add_table(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                      const fovea_sight *sight, const fovea_position_block *positions, shaw_values all, int flags) {
  const int64_t dim = context->plan->problem.v_dim, end = all.first + all.count;
  const int careful = !context->kernels->all_finite(all.vectors, dim, all.count, dim);
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  if (!careful) {
    add_values(context, t, state, sight, &all, NULL, flags);
    return;
  }
  while (all.first < end) {
    all.count = (int)fovea_least(end - all.first, FOVEA_BLOCK_KEYS);
    const fovea_mask_tile hidden = {rows, FOVEA_MASK_F32, 0, all.count};
    hide_distances(context, t, sight, positions, &all, rows);
    add_values(context, t, state, sight, &all, &hidden, all.first + all.count == end ? flags : 0);
    all.sums += all.count * context->kernels->row_tile;
    all.vectors += all.count * dim;
    all.first += all.count;
  }
}

/* The sums of the rows that have a table, and zeros for the others. */
static const float *sums_of_table(const fovea_task_context *context, const fovea_tile *t, int64_t table, int count,
                                  float *to) {
  const int64_t step = context->kernels->row_tile;
  const float *sums = array_of(context, SUMS);
  if (tables_of(context->plan) == 1) return sums;
  for (int lane = 0; lane < t->view.vectors * context->kernels->lanes; lane++) {
    const int kept = has_table(context, t, lane, table);
    for (int i = 0; i < count; i++) to[i * step + lane] = kept ? sums[i * step + lane] : 0;
  }
  return to;
}

/* Adds the vectors of all tables at once, if there is a single distance: one vector each. Returns 0 if that cannot
 * be done. */
static int add_tables(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                      const fovea_sight *sight, int64_t distance, int flags) {
  const int64_t dim = context->plan->problem.v_dim, tables = tables_of(context->plan);
  float *sums = array_of(context, SUMS_OF_HEAD);
  const shaw_values values = {
      .sums = sums,
      .vectors = vector_of(context, context->tensors->shaw_values, dim, head_at(context, 0), distance),
      .stride = fovea_shaw_vectors(&context->plan->problem) * dim,
      .count = (int)tables,
  };
  if (tables > FOVEA_BLOCK_KEYS ||
      !context->kernels->all_finite(values.vectors, values.stride, values.count, dim)) {
    return 0;
  }
  for (int64_t table = 0; table < tables; table++)
    sums_of_table(context, t, table, 1, sums + table * context->kernels->row_tile);
  add_values(context, t, state, sight, &values, NULL, flags);
  return 1;
}

void fovea_add_shaw_values(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                           const fovea_sight *sight, const fovea_position_block *positions, int first) {
  enum { FAR = 1 << 24 };
  const fovea_problem *problem = &context->plan->problem;
  const int64_t base = context->walk.block, tables = tables_of(context->plan);
  const fovea_interval keys = fovea_keys_of_view(&sight->view, t->view.vectors);
  const distance_range met = distances_of(context, (fovea_interval){base + keys.begin, base + keys.end},
                                          own_of(context, t, 0), own_of(context, t, t->rows.count - 1));
  int32_t own[FOVEA_ROW_TILE_LIMIT];
  for (int lane = 0; lane < t->view.vectors * context->kernels->lanes; lane++)
    own[lane] = (int32_t)clip(own_of(context, t, lane) - base, -FAR, FAR);
  const fovea_shaw_sums_args args = {
      .weights = context->memory.scores,
      .vectors = {0, t->view.vectors},
      .key_begin = sight->view.begin,
      .key_end = sight->view.end,
      .own = own,
      .distance = (int)problem->shaw_distance,
      .first = (int)met.first,
      .count = (int)(met.last - met.first + 1),
      .sums = array_of(context, SUMS),
  };
  const int last = first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  context->kernels->shaw_sums(&args);
  if (args.count == 1 && tables > 1 && add_tables(context, t, state, sight, met.first, last)) return;
  for (int64_t table = 0; table < tables; table++) {
    const shaw_values values = {
        .sums = sums_of_table(context, t, table, args.count, array_of(context, SUMS_OF_HEAD)),
        .vectors = vector_of(context, context->tensors->shaw_values, problem->v_dim, head_at(context, table),
                             met.first),
        .stride = problem->v_dim,
        .first = met.first,
        .table = table,
        .count = args.count,
    };
    add_table(context, t, state, sight, positions, values, table + 1 < tables ? 0 : last);
  }
}

/* ---- Values of a tile that is decoded. */

/* The sums of all keys of up to four rows, from `row` on: chains that do not wait for each other. */
static void sum_far(const float *weights, int row, int count, fovea_interval keys, float *sums) {
  const float *of[4];
  float sum[4] = {0, 0, 0, 0};
  for (int r = 0; r < 4; r++) of[r] = weights + fovea_least(row + r, count - 1) * FOVEA_BLOCK_KEYS;
  for (int64_t key = keys.begin; key < keys.end; key++) {
    sum[0] += of[0][key];
    sum[1] += of[1][key];
    sum[2] += of[2][key];
    sum[3] += of[3][key];
  }
  for (int r = 0; r < 4 && row + r < count; r++) sums[(row + r) * FOVEA_BLOCK_KEYS] = sum[r];
}

/* Sums the weights of rows `row` to `row` + `count` - 1, which have the same own key, by distances. */
static void sum_decoded(const fovea_task_context *context, const fovea_tile *t, int row, int count,
                        fovea_interval keys, distance_range met) {
  const int64_t k = context->plan->problem.shaw_distance;
  const float *weights = context->decode->memory.scores + row * FOVEA_BLOCK_KEYS;
  float *sums = array_of(context, SUMS);
  const int64_t first = context->walk.block - own_of(context, t, row); /* the distance of the block's first key */
  if (met.first == met.last) {
    for (int r = 0; r < count; r += 4) sum_far(weights, r, count, keys, sums);
    return;
  }
  for (int r = 0; r < count; r++)
    for (int64_t i = 0; i <= met.last - met.first; i++) sums[r * FOVEA_BLOCK_KEYS + i] = 0;
  for (int64_t key = keys.begin; key < keys.end; key++) {
    const int64_t i = clip(first + key, -k, k) - met.first;
    for (int r = 0; r < count; r++) sums[r * FOVEA_BLOCK_KEYS + i] += weights[r * FOVEA_BLOCK_KEYS + key];
  }
}

/* Adds the values of rows that have the same own key and table. */
static void add_decoded(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight,
                        const fovea_position_block *positions, int row, int count, fovea_interval keys,
                        int flags) {
  const fovea_decode_state *state = context->decode;
  const int64_t dim = context->plan->problem.v_dim, stride = fovea_decode_stride(dim), base = context->walk.block;
  const int64_t own = own_of(context, t, row);
  const distance_range met = distances_of(context, (fovea_interval){base + keys.begin, base + keys.end}, own, own);
  const float *table =
      vector_of(context, context->tensors->shaw_values, dim, t->places[row].head, met.first);
  const void *vectors[FOVEA_BLOCK_KEYS];
  const int distances = (int)(met.last - met.first + 1);
  for (int i = 0; i < distances; i++) vectors[i] = table + i * dim;
  sum_decoded(context, t, row, count, keys, met);
  fovea_decode_value_args args = {
      .weights = array_of(context, SUMS),
      .row_count = count,
      .values = vectors,
      .prefetch = vectors,
      .type = FOVEA_F32,
      .dim = dim,
      .key_count = distances,
      .flags = flags,
      .partial = state->memory.partial + row * stride,
      .output = state->memory.output + row * stride,
      .output_stride = stride,
      .old_part = state->old_part + row,
      .new_part = state->new_part + row,
  };
  if (context->kernels->all_finite(table, dim, distances, dim)) {
    context->kernels->decode_value(&args);
    return;
  }
  args.row_count = args.key_count = 1;
  args.flags = 0;
  for (int r = row; r < row + count; r++, args.partial += stride) {
    if (state->block_max[r] == -__builtin_inff() && state->block_sum[r] == 0) continue; /* no state */
    for (int i = 0; i < distances; i++) {
      if (!sees_distance(context, t, sight, positions, r, met.first + i)) continue;
      args.weights = array_of(context, SUMS) + (r - row) * FOVEA_BLOCK_KEYS + i;
      args.values = args.prefetch = vectors + i;
      context->kernels->decode_value(&args);
    }
  }
  args.partial = state->memory.partial + row * stride;
  args.row_count = count;
  args.key_count = 0;
  args.flags = flags;
  context->kernels->decode_value(&args);
}

void fovea_decode_shaw_values(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight,
                              const fovea_position_block *positions, fovea_interval keys, int first) {
  for (int row = 0, count; row < t->rows.count; row += count) {
    count = 1;
    while (tables_of(context->plan) == 1 && row + count < t->rows.count &&
           t->places[row + count].row == t->places[row].row) {
      count++;
    }
    add_decoded(context, t, sight, positions, row, count, keys, first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE);
  }
}
