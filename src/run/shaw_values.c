#include "shaw_values.h"
#include "../../arch/args/decode.h"
#include "../../arch/args/terms.h"

#include "shaw_distances.h"

#if FOVEA_BUILDS_TERMS

/* Whether a row sees a key of the block at this distance. */
static int sees_distance(const fovea_shaw_block *block, int row, int64_t distance) {
  const int64_t k = block->terms->plan->problem.shaw.distance;
  const int64_t key = fovea_own_of(block->terms, block->tile, row) + distance - block->visible->base;
  const int first = (int)(distance == -k ? 0 : fovea_clip(key, 0, FOVEA_BLOCK_KEYS)),
            end = (int)(distance == k ? FOVEA_BLOCK_KEYS : fovea_clip(key + 1, 0, FOVEA_BLOCK_KEYS));
  for (int j = first; j < end; j++) {
    if (fovea_row_sees_with(block->tile, block->visible, block->positions, row, j)) return 1;
  }
  return 0;
}

/* The distances of the block's keys `keys` from rows whose own keys are at first_own to last_own. */
static fovea_distances distances_of(const fovea_shaw_block *block, fovea_interval keys, int64_t first_own,
                                    int64_t last_own) {
  const int64_t base = block->visible->base;
  return fovea_distances_of(&block->terms->plan->problem, (fovea_interval){base + keys.begin, base + keys.end},
                            first_own, last_own);
}

/* The vector of a distance for a query head. */
static const float *vector_of(const fovea_row_terms *terms, int64_t head, int64_t distance) {
  const fovea_problem *problem = &terms->plan->problem;
  return fovea_shaw_vector(problem, terms->shaw_values, problem->v_dim, head, distance);
}

/* The vectors of some distances, of one table, and the sums of weights for them. */
typedef struct shaw_values {
  const float *sums, *vectors;
  int64_t stride; /* from vector to vector */
  int64_t first, table;
  int count;
} shaw_values;

/* -Inf where a row sees no key at a distance, or has another table. */
static void hide_distances(const fovea_shaw_block *block, const shaw_values *values, const void **rows) {
  const fovea_tile *t = block->tile;
  float *hidden = fovea_shaw_array(block->terms, FOVEA_SHAW_HIDDEN);
  for (int lane = 0; lane < t->layout.rows; lane++, hidden += FOVEA_BLOCK_KEYS) {
    const int row = lane < t->rows.count ? lane : t->rows.count - 1;
    rows[lane] = hidden;
    for (int i = 0; i < values->count; i++) {
      const int seen =
          fovea_has_shaw_table(block->terms, t, row, values->table) && sees_distance(block, row, values->first + i);
      hidden[i] = seen ? 0 : -__builtin_inff();
    }
  }
}

/* Adds up to a block of distances. `flags`: whether they are the last. */
static void add_values(const fovea_shaw_block *block, const fovea_value_args *common, const shaw_values *values,
                       const fovea_mask_tile *hidden, int flags) {
  const fovea_sliced_block *sliced = &block->visible->sliced;
  const fovea_kernels *kernels = block->terms->plan->kernels;
  const int vectors = block->tile->visible.vectors;
  fovea_value_args args = *common;
  args.weights = values->sums;
  args.values = values->vectors;
  args.value_stride = values->stride;
  args.panel = NULL;
  args.key_count = values->count;
  args.flags = flags;
  args.mask = hidden;
  for (int v = 0, run; v < vectors; v += run) {
    run = 1;
    if (sliced->begin[v] == sliced->end[v]) continue;
    while (v + run < vectors && sliced->begin[v + run] != sliced->end[v + run]) run++;
    args.vectors = (fovea_vector_range){v, run};
    (hidden ? kernels->value_careful : kernels->value)(&args);
  }
}

/* Adds the vectors of one table, for distances in ascending order. */
static void add_table(const fovea_shaw_block *block, const fovea_value_args *common, shaw_values all, int flags) {
  const fovea_kernels *kernels = block->terms->plan->kernels;
  const int64_t dim = common->dim, end = all.first + all.count;
  const int careful = !kernels->all_finite(all.vectors, dim, all.count, dim);
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  if (!careful) {
    add_values(block, common, &all, NULL, flags);
    return;
  }
  while (all.first < end) {
    all.count = (int)fovea_least(end - all.first, FOVEA_BLOCK_KEYS);
    const fovea_mask_tile hidden = {rows, FOVEA_MASK_F32, 0, all.count};
    hide_distances(block, &all, rows);
    add_values(block, common, &all, &hidden, all.first + all.count == end ? flags : 0);
    all.sums += all.count * kernels->row_tile;
    all.vectors += all.count * dim;
    all.first += all.count;
  }
}

/* Sums the block's weights by distances, `count` of them. */
static void sum_weights(const fovea_shaw_block *block, int64_t first, int count) {
  const fovea_tile *t = block->tile;
  const fovea_plan *plan = block->terms->plan;
  int32_t own[FOVEA_ROW_TILE_LIMIT];
  for (int lane = 0; lane < t->layout.rows; lane++) {
    const int64_t key = fovea_own_of(block->terms, t, lane) - block->visible->base;
    own[lane] = (int32_t)fovea_clip(key, -FOVEA_SHAW_FAR, FOVEA_SHAW_FAR);
  }
  const fovea_shaw_sums_args args = {
      .weights = t->layout.scores,
      .vectors = {0, t->visible.vectors},
      .key_begin = block->visible->sliced.begin,
      .key_end = block->visible->sliced.end,
      .own = own,
      .distance = (int)plan->problem.shaw.distance,
      .first = (int)first,
      .count = count,
      .sums = fovea_shaw_array(block->terms, FOVEA_SHAW_SUMS),
  };
  plan->kernels->shaw_sums(&args);
}

/* The sums of the rows that have a table, and zeros for the others. */
static const float *sums_of_table(const fovea_row_terms *terms, const fovea_tile *t, int64_t table, int count,
                                  float *to) {
  const int64_t step = t->layout.key_step;
  const float *sums = fovea_shaw_array(terms, FOVEA_SHAW_SUMS);
  if (fovea_shaw_tables(terms->plan) == 1) return sums;
  for (int lane = 0; lane < t->layout.rows; lane++) {
    const int kept = fovea_has_shaw_table(terms, t, lane, table);
    for (int i = 0; i < count; i++) to[i * step + lane] = kept ? sums[i * step + lane] : 0;
  }
  return to;
}

/* Adds the vectors of all tables at once, if there is a single distance: one vector each. Returns 0 if that cannot
 * be done. */
static int add_tables(const fovea_shaw_block *block, const fovea_value_args *common, int64_t distance) {
  const fovea_row_terms *terms = block->terms;
  const fovea_kernels *kernels = terms->plan->kernels;
  const int64_t dim = common->dim, tables = fovea_shaw_tables(terms->plan);
  float *sums = fovea_shaw_array(terms, FOVEA_SHAW_SUMS_OF_HEAD);
  const shaw_values values = {
      .sums = sums,
      .vectors = vector_of(terms, fovea_shaw_head(terms, 0), distance),
      .stride = fovea_shaw_vectors(&terms->plan->problem) * dim,
      .count = (int)tables,
  };
  if (tables > FOVEA_BLOCK_KEYS || !kernels->all_finite(values.vectors, values.stride, values.count, dim)) return 0;
  for (int64_t table = 0; table < tables; table++)
    sums_of_table(terms, block->tile, table, 1, sums + table * kernels->row_tile);
  add_values(block, common, &values, NULL, block->last);
  return 1;
}

void fovea_add_shaw_values(const fovea_shaw_block *block, const fovea_value_args *common) {
  const fovea_row_terms *terms = block->terms;
  const fovea_tile *t = block->tile;
  const int64_t tables = fovea_shaw_tables(terms->plan);
  const fovea_interval keys = fovea_keys_of_slices(&block->visible->sliced, t->visible.vectors);
  const fovea_distances met =
      distances_of(block, keys, fovea_own_of(terms, t, 0), fovea_own_of(terms, t, t->rows.count - 1));
  const int count = (int)(met.last - met.first + 1);
  sum_weights(block, met.first, count);
  if (count == 1 && tables > 1 && add_tables(block, common, met.first)) return;
  for (int64_t table = 0; table < tables; table++) {
    const shaw_values values = {
        .sums = sums_of_table(terms, t, table, count, fovea_shaw_array(terms, FOVEA_SHAW_SUMS_OF_HEAD)),
        .vectors = vector_of(terms, fovea_shaw_head(terms, table), met.first),
        .stride = common->dim,
        .first = met.first,
        .table = table,
        .count = count,
    };
    add_table(block, common, values, table + 1 < tables ? 0 : block->last);
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
static void sum_decoded(const fovea_shaw_block *block, int row, int count, fovea_interval keys,
                        fovea_distances met) {
  const int64_t k = block->terms->plan->problem.shaw.distance;
  const float *weights = block->tile->layout.scores + row * FOVEA_BLOCK_KEYS;
  float *sums = fovea_shaw_array(block->terms, FOVEA_SHAW_SUMS);
  /* The distance of the block's first key. */
  const int64_t first = block->visible->base - fovea_own_of(block->terms, block->tile, row);
  if (met.first == met.last) {
    for (int r = 0; r < count; r += 4) sum_far(weights, r, count, keys, sums);
    return;
  }
  for (int r = 0; r < count; r++)
    for (int64_t i = 0; i <= met.last - met.first; i++) sums[r * FOVEA_BLOCK_KEYS + i] = 0;
  for (int64_t key = keys.begin; key < keys.end; key++) {
    const int64_t i = fovea_clip(first + key, -k, k) - met.first;
    for (int r = 0; r < count; r++) sums[r * FOVEA_BLOCK_KEYS + i] += weights[r * FOVEA_BLOCK_KEYS + key];
  }
}

/* Adds the vectors at whose distances a row sees a key: other vectors may hold NaN or Inf. `args` are the arguments
 * for all rows with the same own key; the row is number `number` among them. */
static void add_carefully(const fovea_shaw_block *block, const fovea_decode_state *state, int row,
                          fovea_distances met, fovea_decode_value_args args, int number) {
  const float *sums = args.weights + number * FOVEA_BLOCK_KEYS;
  const void *const *vectors = args.values;
  if (state->block_max[row] == -__builtin_inff() && state->block_sum[row] == 0) return; /* no state */
  args.row_count = args.key_count = 1;
  args.flags = 0;
  args.partial += number * args.output_stride;
  for (int64_t d = met.first; d <= met.last; d++) {
    if (!sees_distance(block, row, d)) continue;
    args.weights = sums + (d - met.first);
    args.values = args.prefetch = vectors + (d - met.first);
    block->terms->plan->kernels->decode_value(&args);
  }
}

/* Adds the values of rows that have the same own key and table, and ends their chains. */
static void add_decoded(const fovea_shaw_block *block, const fovea_decode_state *state, int row, int count,
                        fovea_interval keys) {
  const fovea_kernels *kernels = block->terms->plan->kernels;
  const int64_t dim = block->terms->plan->problem.v_dim, stride = fovea_decode_stride(dim);
  const int64_t own = fovea_own_of(block->terms, block->tile, row);
  const fovea_distances met = distances_of(block, keys, own, own);
  const float *table = vector_of(block->terms, block->tile->places[row].head, met.first);
  const void *vectors[FOVEA_BLOCK_KEYS];
  const int distances = (int)(met.last - met.first + 1);
  for (int i = 0; i < distances; i++) vectors[i] = table + i * dim;
  sum_decoded(block, row, count, keys, met);
  fovea_decode_value_args args = {
      .weights = fovea_shaw_array(block->terms, FOVEA_SHAW_SUMS),
      .row_count = count,
      .values = vectors,
      .prefetch = vectors,
      .type = FOVEA_F32,
      .dim = dim,
      .key_count = distances,
      .flags = block->last,
      .partial = state->memory.partial + row * stride,
      .output = state->memory.output + row * stride,
      .output_stride = stride,
      .old_part = state->old_part + row,
      .new_part = state->new_part + row,
  };
  if (!kernels->all_finite(table, dim, distances, dim)) {
    for (int r = row; r < row + count; r++) add_carefully(block, state, r, met, args, r - row);
    args.key_count = 0;
  }
  kernels->decode_value(&args);
}

void fovea_decode_shaw_values(const fovea_shaw_block *block, const fovea_decode_state *state, fovea_interval keys) {
  const fovea_tile *t = block->tile;
  for (int row = 0, count; row < t->rows.count; row += count) {
    count = 1;
    while (fovea_shaw_tables(block->terms->plan) == 1 && row + count < t->rows.count &&
           t->places[row + count].row == t->places[row].row) {
      count++;
    }
    add_decoded(block, state, row, count, keys);
  }
}
#endif
