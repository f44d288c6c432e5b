#include "gather.h"
#include "../../arch/args/decode.h"
#include "../../arch/args/lists.h"

#include "results.h"
#include "wide_rows.h"

#if FOVEA_BUILDS_LISTS

/* Some keys of a row: whole blocks of the keys that it sees. */
typedef struct gathered_keys {
  int count;
  int32_t positions[FOVEA_BLOCK_KEYS];
  const void *keys[FOVEA_BLOCK_KEYS];   /* padded to whole panels, as decode_score() wants them */
  const void *values[FOVEA_BLOCK_KEYS]; /* of the same keys: it prefetches them */
} gathered_keys;

/* What is left of a row's list. */
static fovea_key_list list_of(const fovea_visibility *by, const fovea_visible_tile *tile, int row) {
  const fovea_pattern *pattern = by->entry->pattern;
  const fovea_row_place place = tile->places[row];
  const fovea_interval seen = tile->rows[row]; /* empty for rows that see nothing */
  const int64_t at = fovea_pattern_row(pattern, place.row, by->entry->offset);
  return fovea_pattern_list(pattern, fovea_pattern_head(by, place.head), at, seen);
}

/* Whether the row sees the next key of the list, by the rule beside the list. */
static int next_is_seen(const fovea_key_list *list) {
  return !list->also || fovea_node_sees(list->also, list->row, list->keys[0]);
}

static void drop_next(fovea_key_list *list) {
  list->keys++;
  list->count--;
}

/* Takes a list that fits as a whole, and has no rule beside it. */
static void take_list(fovea_key_list *list, gathered_keys *taken) {
  taken->count = (int)list->count;
  for (int i = 0; i < taken->count; i++) taken->positions[i] = list->keys[i];
  list->keys += list->count;
  list->count = 0;
}

/* Takes keys from the list, while they fit: blocks are not cut. Returns 0 if none is left. */
static int take_keys(fovea_key_list *list, gathered_keys *taken) {
  taken->count = 0;
  if (!list->also && list->count > 0 && list->count <= FOVEA_BLOCK_KEYS) take_list(list, taken);
  while (list->count > 0) {
    const int before = taken->count;
    const fovea_key_list begin = *list;
    for (int32_t block = list->keys[0] / FOVEA_BLOCK_KEYS;
         list->count > 0 && list->keys[0] / FOVEA_BLOCK_KEYS == block; drop_next(list)) {
      if (!next_is_seen(list)) continue;
      if (taken->count == FOVEA_BLOCK_KEYS) { /* the block waits for the next call */
        taken->count = before;
        *list = begin;
        return 1;
      }
      taken->positions[taken->count++] = list->keys[0];
    }
  }
  return taken->count > 0;
}

/* Finds the rows of K and V. */
static void find_rows(const fovea_row_source *of_keys, const fovea_row_source *of_values, gathered_keys *taken) {
  const fovea_row_run keys = fovea_rows_at(of_keys, 0), values = fovea_rows_at(of_values, 0);
  for (int i = 0; i < taken->count; i++) {
    taken->keys[i] = keys.row + taken->positions[i] * keys.step;
    taken->values[i] = values.row + taken->positions[i] * values.step;
  }
  for (int i = taken->count; i % FOVEA_PANEL_ROWS != 0; i++) {
    taken->keys[i] = taken->keys[taken->count - 1];
    taken->values[i] = taken->values[taken->count - 1];
  }
}

static void fetch_row(const char *row, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(row + byte, 0, 3);
}

/* Keys of the next list, while this one is computed: a row of a graph takes less time than memory does. They share
 * L1 with the rows of this list. */
static void fetch_next(const fovea_row_source *source, const fovea_visibility *by, const fovea_tile *t, int next) {
  enum { BYTES = 32 << 10 };
  if (next >= t->rows.count) return;
  const fovea_key_list list = list_of(by, &t->visible, next);
  const fovea_row_run keys = fovea_rows_at(source, 0);
  const int64_t bytes = fovea_bytes(keys.type, source->dim);
  for (int64_t i = 0; i < list.count && i * bytes < BYTES; i++)
    fetch_row(keys.row + list.keys[i] * keys.step, bytes);
}

/* The problem's own terms, which do not depend on positions. */
static void adjust_keys(const fovea_plan *plan, float *scores, int count, int rows) {
  static const int32_t from[FOVEA_DECODE_ROWS_LIMIT];
  int32_t to[FOVEA_DECODE_ROWS_LIMIT];
  const int lanes = plan->kernels->lanes;
  for (int i = 0; i < rows; i++) to[i] = count;
  const fovea_decode_adjust_args args = {
      .scores = scores,
      .row_count = rows,
      .key_end = (count + lanes - 1) / lanes * lanes,
      .terms = &plan->terms,
      .seen_from = from,
      .seen_to = to,
  };
  plan->kernels->decode_adjust(&args);
}

/* Scores of rows that share a list. */
static void score_keys(const fovea_plan *plan, const fovea_decode_memory *memory, const gathered_keys *taken,
                       int rows) {
  const fovea_problem *problem = &plan->problem;
  fovea_decode_score_args args = {
      .queries = memory->queries,
      .query_stride = fovea_decode_stride(problem->qk_dim),
      .row_count = rows,
      .keys = taken->keys,
      .prefetch = taken->values,
      .type = problem->k_type,
      .dim = problem->qk_dim,
      .key_count = taken->count,
      .c = plan->terms.c,
      .scores = memory->scores,
  };
  plan->kernels->decode_score(&args);
  if (plan->terms.adjusted) adjust_keys(plan, memory->scores, taken->count, rows);
}

/* Takes rows that share a list through it. */
static void gather_list(const fovea_task_context *context, const fovea_tile *t, int first, int rows,
                        fovea_gather_stack *stacks) {
  const fovea_plan *plan = context->plan;
  const fovea_decode_memory *memory = &context->decode->memory;
  gathered_keys taken;
  fovea_key_list list = list_of(&context->visibility, &t->visible, first);
  fovea_gather_args args = {
      .keys = taken.positions, .values = taken.values, .type = plan->problem.v_type, .dim = plan->problem.v_dim};
  for (int loaded = 0; take_keys(&list, &taken); loaded = 1) {
    if (!loaded) fovea_widen_each(plan, t->queries + first, rows, memory->queries);
    find_rows(&context->keys, &context->values, &taken);
    if (list.count == 0) fetch_next(&context->keys, &context->visibility, t, first + rows);
    score_keys(plan, memory, &taken, rows);
    args.key_count = taken.count;
    for (int i = 0; i < rows; i++) {
      args.scores = memory->scores + i * FOVEA_BLOCK_KEYS;
      args.stack = &stacks[i];
      plan->kernels->gather(&args);
    }
  }
  args.key_count = 0;
  args.last = 1;
  for (int i = 0; i < rows; i++) {
    args.stack = &stacks[i];
    if (stacks[i].depth > 1) plan->kernels->gather(&args);
  }
}

/* How many rows from `first` on share its list: the heads of a group, if the pattern is the same for them. */
static int rows_of_list(const fovea_visibility *by, const fovea_tile *t, int first, int end, uint64_t room) {
  const int most = (int)fovea_least(end - first, (int64_t)room);
  int rows = 1;
  while (rows < most && t->places[first + rows].row == t->places[first].row &&
         fovea_pattern_head(by, t->places[first + rows].head) == fovea_pattern_head(by, t->places[first].head))
    rows++;
  return rows;
}

/* Empty stacks, whose outputs lie in scratch. */
static void begin_stacks(const fovea_plan *plan, float *outputs, fovea_gather_stack *stacks) {
  const int64_t stride = fovea_decode_stride(plan->problem.v_dim);
  float *next = outputs;
  for (int i = 0; i < FOVEA_GATHER_ROWS; i++) {
    stacks[i].depth = 0;
    for (int state = 0; state <= plan->states; state++, next += stride) stacks[i].outputs[state] = next;
  }
}

/* Writes the results of rows from `first` on. A row that sees no key has no state. */
static void end_stacks(const fovea_task_context *context, fovea_tile *t, int first, int rows,
                       const fovea_gather_stack *stacks) {
  const int64_t dim = context->plan->problem.v_dim, stride = fovea_gather_stride(context->plan->states, dim);
  float maxima[FOVEA_GATHER_ROWS] = {0}, sums[FOVEA_GATHER_ROWS] = {0};
  for (int i = 0; i < rows; i++) {
    const int seen = stacks[i].depth > 0;
    maxima[i] = seen ? stacks[i].maxima[0] : -__builtin_inff();
    sums[i] = seen ? stacks[i].sums[0] : 0;
    for (int64_t d = 0; !seen && d < dim; d++) stacks[i].outputs[0][d] = 0;
  }
  const fovea_tile_state state = {maxima, sums, context->memory.gather, NULL};
  fovea_write_rows(context, t, first, rows, &state, stride);
}

static void gather_tile(const fovea_task_context *context, fovea_tile *t) {
  const uint64_t room = context->plan->layout.decode_rows;
  fovea_gather_stack stacks[FOVEA_GATHER_ROWS];
  for (int first = 0, rows; first < t->rows.count; first += rows) {
    rows = (int)fovea_least(FOVEA_GATHER_ROWS, t->rows.count - first);
    begin_stacks(context->plan, context->memory.gather, stacks);
    for (int i = 0, alike; i < rows; i += alike) {
      alike = rows_of_list(&context->visibility, t, first + i, first + rows, room);
      gather_list(context, t, first + i, alike, &stacks[i]);
    }
    end_stacks(context, t, first, rows, stacks);
  }
}

void fovea_count_gathered(const fovea_visibility *by, const fovea_visible_tile *tile, fovea_counts *counts) {
  const int64_t lanes = by->kernels->lanes;
  gathered_keys taken;
  for (int i = 0; i < tile->count; i++) {
    fovea_key_list list = list_of(by, tile, i);
    while (take_keys(&list, &taken)) {
      counts->pairs_visible += taken.count;
      counts->pairs_computed += (taken.count + lanes - 1) / lanes * lanes;
    }
  }
}

/* Scores and queries lie as in decoding. */
const fovea_engine fovea_gathered_engine = {.keys_in_lanes = 1, .compute_tile = gather_tile};
#endif
