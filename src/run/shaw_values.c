#include "shaw_values.h"

#include "shaw_distances.h"

/* Whether a row sees a key of the block, counted from its first. */
static int sees(const fovea_tile *t, const fovea_visible_block *visible, const fovea_position_block *positions,
                int row, int key) {
  if (!fovea_row_sees(visible, row, key)) return 0;
  return !positions->hides || !fovea_positions_hide(t, positions, row, key);
}

/* Whether a row sees a key of the block at this distance. */
static int sees_distance(const fovea_task_context *context, const fovea_tile *t, const fovea_visible_block *visible,
                         const fovea_position_block *positions, int row, int64_t distance) {
  const int64_t k = context->plan->problem.shaw_distance;
  const int64_t key = fovea_own_of(context, t, row) + distance - context->walk.block;
  const int first = (int)(distance == -k ? 0 : fovea_clip(key, 0, FOVEA_BLOCK_KEYS)),
            end = (int)(distance == k ? FOVEA_BLOCK_KEYS : fovea_clip(key + 1, 0, FOVEA_BLOCK_KEYS));
  for (int j = first; j < end; j++) {
    if (sees(t, visible, positions, row, j)) return 1;
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
static void hide_distances(const fovea_task_context *context, const fovea_tile *t,
                           const fovea_visible_block *visible, const fovea_position_block *positions,
                           const shaw_values *values, const void **rows) {
  float *hidden = fovea_shaw_array(context, FOVEA_SHAW_HIDDEN);
  for (int lane = 0; lane < t->visible.vectors * context->kernels->lanes; lane++, hidden += FOVEA_BLOCK_KEYS) {
    const int row = lane < t->rows.count ? lane : t->rows.count - 1;
    rows[lane] = hidden;
    for (int i = 0; i < values->count; i++) {
      const int seen = fovea_has_shaw_table(context, t, row, values->table) &&
                       sees_distance(context, t, visible, positions, row, values->first + i);
      hidden[i] = seen ? 0 : -__builtin_inff();
    }
  }
}

/* Adds up to a block of distances. `flags`: whether they are the last. */
static void add_values(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                       const fovea_visible_block *visible, const shaw_values *values, const fovea_mask_tile *hidden,
                       int flags) {
  const fovea_sliced_block *sliced = &visible->sliced;
  const int64_t dim = context->plan->problem.v_dim;
  for (int v = 0, run; v < t->visible.vectors; v += run) {
    run = 1;
    if (sliced->begin[v] == sliced->end[v]) continue;
    while (v + run < t->visible.vectors && sliced->begin[v + run] != sliced->end[v + run]) run++;
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
                      const fovea_visible_block *visible, const fovea_position_block *positions, shaw_values all,
                      int flags) {
  const int64_t dim = context->plan->problem.v_dim, end = all.first + all.count;
  const int careful = !context->kernels->all_finite(all.vectors, dim, all.count, dim);
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  if (!careful) {
    add_values(context, t, state, visible, &all, NULL, flags);
    return;
  }
  while (all.first < end) {
    all.count = (int)fovea_least(end - all.first, FOVEA_BLOCK_KEYS);
    const fovea_mask_tile hidden = {rows, FOVEA_MASK_F32, 0, all.count};
    hide_distances(context, t, visible, positions, &all, rows);
    add_values(context, t, state, visible, &all, &hidden, all.first + all.count == end ? flags : 0);
    all.sums += all.count * context->kernels->row_tile;
    all.vectors += all.count * dim;
    all.first += all.count;
  }
}

/* Sums the block's weights by distances, `count` of them. */
static void sum_weights(const fovea_task_context *context, const fovea_tile *t, const fovea_sliced_block *sliced,
                        int64_t first, int count) {
  int32_t own[FOVEA_ROW_TILE_LIMIT];
  for (int lane = 0; lane < t->visible.vectors * context->kernels->lanes; lane++) {
    const int64_t key = fovea_own_of(context, t, lane) - context->walk.block;
    own[lane] = (int32_t)fovea_clip(key, -FOVEA_SHAW_FAR, FOVEA_SHAW_FAR);
  }
  const fovea_shaw_sums_args args = {
      .weights = context->memory.scores,
      .vectors = {0, t->visible.vectors},
      .key_begin = sliced->begin,
      .key_end = sliced->end,
      .own = own,
      .distance = (int)context->plan->problem.shaw_distance,
      .first = (int)first,
      .count = count,
      .sums = fovea_shaw_array(context, FOVEA_SHAW_SUMS),
  };
  context->kernels->shaw_sums(&args);
}

/* The sums of the rows that have a table, and zeros for the others. */
static const float *sums_of_table(const fovea_task_context *context, const fovea_tile *t, int64_t table, int count,
                                  float *to) {
  const int64_t step = context->kernels->row_tile;
  const float *sums = fovea_shaw_array(context, FOVEA_SHAW_SUMS);
  if (fovea_shaw_tables(context->plan) == 1) return sums;
  for (int lane = 0; lane < t->visible.vectors * context->kernels->lanes; lane++) {
    const int kept = fovea_has_shaw_table(context, t, lane, table);
    for (int i = 0; i < count; i++) to[i * step + lane] = kept ? sums[i * step + lane] : 0;
  }
  return to;
}

/* Adds the vectors of all tables at once, if there is a single distance: one vector each. Returns 0 if that cannot
 * be done. */
static int add_tables(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                      const fovea_visible_block *visible, int64_t distance, int flags) {
  const int64_t dim = context->plan->problem.v_dim, tables = fovea_shaw_tables(context->plan);
  float *sums = fovea_shaw_array(context, FOVEA_SHAW_SUMS_OF_HEAD);
  const shaw_values values = {
      .sums = sums,
      .vectors =
          fovea_shaw_vector(context, context->tensors->shaw_values, dim, fovea_shaw_head(context, 0), distance),
      .stride = fovea_shaw_vectors(&context->plan->problem) * dim,
      .count = (int)tables,
  };
  if (tables > FOVEA_BLOCK_KEYS ||
      !context->kernels->all_finite(values.vectors, values.stride, values.count, dim)) {
    return 0;
  }
  for (int64_t table = 0; table < tables; table++)
    sums_of_table(context, t, table, 1, sums + table * context->kernels->row_tile);
  add_values(context, t, state, visible, &values, NULL, flags);
  return 1;
}

void fovea_add_shaw_values(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                           const fovea_visible_block *visible, const fovea_position_block *positions, int first) {
  const fovea_problem *problem = &context->plan->problem;
  const int64_t base = context->walk.block, tables = fovea_shaw_tables(context->plan);
  const fovea_interval keys = fovea_keys_of_slices(&visible->sliced, t->visible.vectors);
  const fovea_distances met =
      fovea_distances_of(context, (fovea_interval){base + keys.begin, base + keys.end}, fovea_own_of(context, t, 0),
                         fovea_own_of(context, t, t->rows.count - 1));
  const int count = (int)(met.last - met.first + 1), last = first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  sum_weights(context, t, &visible->sliced, met.first, count);
  if (count == 1 && tables > 1 && add_tables(context, t, state, visible, met.first, last)) return;
  for (int64_t table = 0; table < tables; table++) {
    const shaw_values values = {
        .sums = sums_of_table(context, t, table, count, fovea_shaw_array(context, FOVEA_SHAW_SUMS_OF_HEAD)),
        .vectors = fovea_shaw_vector(context, context->tensors->shaw_values, problem->v_dim,
                                     fovea_shaw_head(context, table), met.first),
        .stride = problem->v_dim,
        .first = met.first,
        .table = table,
        .count = count,
    };
    add_table(context, t, state, visible, positions, values, table + 1 < tables ? 0 : last);
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
                        fovea_interval keys, fovea_distances met) {
  const int64_t k = context->plan->problem.shaw_distance;
  const float *weights = context->decode->memory.scores + row * FOVEA_BLOCK_KEYS;
  float *sums = fovea_shaw_array(context, FOVEA_SHAW_SUMS);
  const int64_t first =
      context->walk.block - fovea_own_of(context, t, row); /* the distance of the block's first key */
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

/* Adds the vectors at whose distances a row sees a key: they may hold NaN or Inf. `args` are those of the rows that
 * have the same own key, of which the row is number `number`. */
static void add_carefully(const fovea_task_context *context, const fovea_tile *t,
                          const fovea_visible_block *visible, const fovea_position_block *positions, int row,
                          fovea_distances met, fovea_decode_value_args args, int number) {
  const fovea_decode_state *state = context->decode;
  const float *sums = args.weights + number * FOVEA_BLOCK_KEYS;
  const void *const *vectors = args.values;
  if (state->block_max[row] == -__builtin_inff() && state->block_sum[row] == 0) return; /* no state */
  args.row_count = args.key_count = 1;
  args.flags = 0;
  args.partial += number * args.output_stride;
  for (int64_t d = met.first; d <= met.last; d++) {
    if (!sees_distance(context, t, visible, positions, row, d)) continue;
    args.weights = sums + (d - met.first);
    args.values = args.prefetch = vectors + (d - met.first);
    context->kernels->decode_value(&args);
  }
}

/* Adds the values of rows that have the same own key and table, and ends their chains. */
static void add_decoded(const fovea_task_context *context, const fovea_tile *t, const fovea_visible_block *visible,
                        const fovea_position_block *positions, int row, int count, fovea_interval keys, int flags) {
  const fovea_decode_state *state = context->decode;
  const int64_t dim = context->plan->problem.v_dim, stride = fovea_decode_stride(dim), base = context->walk.block;
  const int64_t own = fovea_own_of(context, t, row);
  const fovea_distances met =
      fovea_distances_of(context, (fovea_interval){base + keys.begin, base + keys.end}, own, own);
  const float *table =
      fovea_shaw_vector(context, context->tensors->shaw_values, dim, t->places[row].head, met.first);
  const void *vectors[FOVEA_BLOCK_KEYS];
  const int distances = (int)(met.last - met.first + 1);
  for (int i = 0; i < distances; i++) vectors[i] = table + i * dim;
  sum_decoded(context, t, row, count, keys, met);
  fovea_decode_value_args args = {
      .weights = fovea_shaw_array(context, FOVEA_SHAW_SUMS),
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
  if (!context->kernels->all_finite(table, dim, distances, dim)) {
    for (int r = row; r < row + count; r++) add_carefully(context, t, visible, positions, r, met, args, r - row);
    args.key_count = 0;
  }
  context->kernels->decode_value(&args);
}

void fovea_decode_shaw_values(const fovea_task_context *context, const fovea_tile *t,
                              const fovea_visible_block *visible, const fovea_position_block *positions,
                              fovea_interval keys, int first) {
  for (int row = 0, count; row < t->rows.count; row += count) {
    count = 1;
    while (fovea_shaw_tables(context->plan) == 1 && row + count < t->rows.count &&
           t->places[row + count].row == t->places[row].row) {
      count++;
    }
    add_decoded(context, t, visible, positions, row, count, keys, first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE);
  }
}
