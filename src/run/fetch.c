#include "fetch.h"

#include "../base/types.h"

/* Distance, in keys, at which K is prefetched in the first block of a task. The products of a few register tiles
 * take long enough to cover the latency of L3. */
enum { PREFETCH_KEYS = 24 };

/* Lists `count` rows from `position` on, but none at `keys.end` or after it. Panels and codes are not prefetched. */
static void fetch_run(const fovea_row_source *source, int64_t position, int64_t count, int64_t keys_end,
                      fovea_fetch_list *list) {
  int64_t end = position + count < keys_end ? position + count : keys_end;
  fovea_fetch_row *row = list->rows + list->count;
  while (position < end) {
    fovea_row_run run = fovea_rows_at(source, position);
    if (run.panels || run.codes) {
      position = source->alike ? end : run.end;
      continue;
    }
    const int64_t bytes = fovea_bytes(run.type, source->dim);
    for (; position < end && position < run.end; position++, run.row += run.step)
      *row++ = (fovea_fetch_row){run.row, bytes};
  }
  list->count = (int)(row - list->rows);
}

/* Rows of one place, one after the other. */
typedef struct fetch_place {
  const char *row;
  int64_t step, bytes; /* bytes is 0 if the rows are not prefetched */
  int64_t left;        /* rows until there is another run to be found */
} fetch_place;

static fetch_place find_place(const fovea_row_source *source, int64_t position, int64_t keys_end) {
  if (position >= keys_end) return (fetch_place){.left = INT64_MAX};
  const fovea_row_run run = fovea_rows_at(source, position);
  const int64_t end = run.end < keys_end ? run.end : keys_end;
  return (fetch_place){run.row, run.step, run.panels || run.codes ? 0 : fovea_bytes(run.type, source->dim),
                       end - position};
}

/* Lists this tile's share of the next block, from four places in turn. The prefetcher of L2 runs ahead in each page
 * of which consecutive lines were read. In four pages at once it keeps more lines in flight than a core's fill
 * buffers do in one. Rows of the smallest pages lie nowhere one after the other, and are listed in their order, in
 * which each page is found from the one before. */
static void fetch_share(const fovea_row_source *source, const fovea_walk *walk, fovea_fetch_list *list) {
  enum { PLACES = 4, QUARTER = FOVEA_BLOCK_KEYS / PLACES };
  fetch_place places[PLACES] = {{0}};
  const unsigned tile = (unsigned)walk->tile, tiles = (unsigned)walk->tiles;
  const unsigned first = tile * FOVEA_BLOCK_KEYS / tiles, end = (tile + 1) * FOVEA_BLOCK_KEYS / tiles;
  const int64_t begin = walk->next_block + first;
  fovea_fetch_row *row = list->rows + list->count;
  if (begin < walk->keys_end && fovea_rows_at(source, begin).end - begin < PLACES) {
    fetch_run(source, begin, end - first, walk->keys_end, list);
    return;
  }
  for (unsigned n = first; n < end; n++) {
    fetch_place *place = &places[n % PLACES];
    if (place->left == 0) {
      *place = find_place(source, walk->next_block + n % PLACES * QUARTER + n / PLACES, walk->keys_end);
    }
    place->left--;
    if (place->bytes == 0) continue;
    *row++ = (fovea_fetch_row){place->row, place->bytes};
    place->row += place->step;
  }
  list->count = (int)(row - list->rows);
}

/* Lists the tile's mask rows for the block at `base`. They lie far apart, and a block needs a few cache lines of
 * each. */
static void fetch_mask(const fovea_visibility *by, const fovea_tile *t, int64_t base, fovea_fetch_list *list) {
  const fovea_problem *problem = by->problem;
  int64_t begin = by->entry->mask_begin, end = base + FOVEA_BLOCK_KEYS;
  if (begin < base) begin = base;
  if (end > t->visible.any.end) end = t->visible.any.end;
  if (!by->mask || problem->mask.strides.key == 0 || begin >= end) return;
  int64_t bytes = fovea_mask_bytes(problem->mask.type, end - begin);
  for (int i = 0; i < t->rows.count; i++) {
    list->rows[list->count++] = (fovea_fetch_row){fovea_mask_row(by, t->places[i], begin), bytes};
  }
}

/* Whether the share of the next block's values is prefetched during the products with this block's values: the
 * products of exact mode slow down if tiles are large. */
static int values_fetch(const fovea_plan *plan, const fovea_walk *walk, const fovea_tile *t) {
  return !walk->first && t->visible.vectors * plan->kernels->lanes <= plan->steps.value_fetch_rows;
}

/* Keys and values come from far away once, and then every tile of the task reads them. Each tile prefetches its
 * share of the next block: a core has too few lines in flight to fetch a block during one tile, so the fetches are
 * spread over all tiles. In the first block of a task the first tile prefetches for itself. A tile that begins
 * prefetches the next tile's queries; before it ends it prefetches its own rows of O. The mask is prefetched one
 * tile before it is read and no earlier: its rows often lie a power of two apart and crowd few sets of the cache.
 */
static void plan_score_fetch(const fovea_task_context *context, int values_wait, fovea_interval keys,
                             fovea_fetch_list *list) {
  const fovea_walk *walk = &context->walk;
  const fovea_tile_steps *steps = &context->plan->steps;
  if (walk->first) {
    const int64_t count = keys.end - keys.begin, end = walk->keys_end;
    if (steps->fetches_first_keys) fetch_run(&context->keys, keys.begin + PREFETCH_KEYS, count, end, list);
    if (steps->fetches_first_values) fetch_run(&context->values, keys.begin, count, end, list);
  } else {
    fetch_share(&context->keys, walk, list);
    if (!values_wait) fetch_share(&context->values, walk, list);
  }
  if (walk->next_tile) fetch_mask(&context->visibility, walk->next_tile, walk->next_tile_block, list);
}

/* Whether the tile prefetches its rows of O in this block: the one before its last, because in causal problems the
 * last one has few products to wait beside; or in its only one. */
static int outputs_fetch(const fovea_problem *problem, const fovea_walk *walk, const fovea_tile *t) {
  if (problem->state) return 0;
  if (t->block == FOVEA_NO_BLOCK) return fovea_next_block(&t->visible, 0) == walk->block;
  return fovea_next_block(&t->visible, t->block + FOVEA_BLOCK_KEYS) == FOVEA_NO_BLOCK;
}

/* Lists queries of a tile that begins next, and this tile's rows of O: each `step`-th from `first` on. */
static void fetch_rows_of_tiles(const fovea_problem *problem, const fovea_walk *walk, const fovea_tile *t,
                                int first, int step, fovea_fetch_list *list) {
  const fovea_tile *unloaded = walk->unloaded;
  fovea_fetch_row *row = list->rows + list->count;
  int64_t bytes = fovea_bytes(problem->q_type, problem->qk_dim);
  for (int i = first; unloaded && i < unloaded->rows.count; i += step)
    *row++ = (fovea_fetch_row){unloaded->queries[i], bytes};
  if (outputs_fetch(problem, walk, t)) {
    bytes = fovea_bytes(problem->o_type, problem->v_dim);
    for (int i = first; i < t->rows.count; i += step) *row++ = (fovea_fetch_row){t->outputs[i], bytes};
  }
  list->count = (int)(row - list->rows);
}

/* The slice whose products take longest: there, prefetches are the farthest apart. */
static int largest_slice(const fovea_sliced_block *sliced) {
  int largest = 0, most = 0;
  for (int i = 0; i < sliced->count; i++) {
    const int pairs = (sliced->slices[i].end - sliced->slices[i].begin) * sliced->slices[i].vectors.count;
    if (pairs > most) largest = i, most = pairs;
  }
  return largest;
}

/* Whether operands that are made for a tile prefetch a list. In the first block the list has its own rows. */
static int loads_fetch(const fovea_walk *walk, const fovea_tile *t, int most_rows) {
  return most_rows >= 0 && (walk->first || t->rows.count <= most_rows);
}

void fovea_plan_no_fetch(fovea_fetch *fetch) {
  fetch->slice = 0;
  fetch->score = fetch->value = (fovea_fetch_list){0, NULL, 0};
}

void fovea_plan_fetch(const fovea_task_context *context, const fovea_tile *t, const fovea_sliced_block *sliced,
                      fovea_fetch *fetch) {
  const fovea_plan *plan = context->plan;
  const fovea_walk *walk = &context->walk;
  const fovea_block_slice *first = &sliced->slices[0];
  fetch->slice = walk->first ? 0 : largest_slice(sliced);
  fetch->score = (fovea_fetch_list){0, fetch->rows, loads_fetch(walk, t, plan->steps.key_loads_fetch_rows)};
  fetch->value = (fovea_fetch_list){0, fetch->rows, loads_fetch(walk, t, plan->steps.value_loads_fetch_rows)};
  if (walk->keys_end - walk->keys_begin <= PREFETCH_KEYS) return; /* not worth the instructions */
  const int both = values_fetch(plan, walk, t); /* then half of the tiles' rows are prefetched in each */
  if (both) {
    fetch_share(&context->values, walk, &fetch->value);
    fetch_rows_of_tiles(&plan->problem, walk, t, 1, 2, &fetch->value);
    fetch->score.rows += fetch->value.count;
  }
  plan_score_fetch(context, both, (fovea_interval){walk->block + first->begin, walk->block + first->end},
                   &fetch->score);
  fetch_rows_of_tiles(&plan->problem, walk, t, 0, both ? 2 : 1, &fetch->score);
}

void fovea_fetch_first_keys(const fovea_row_source *keys, const fovea_walk *walk) {
  if (walk->keys_end - walk->keys_begin <= PREFETCH_KEYS) return;
  fovea_fetch_row rows[PREFETCH_KEYS];
  fovea_fetch_list list = {0, rows, 0};
  fetch_run(keys, walk->keys_begin, PREFETCH_KEYS, walk->keys_end, &list);
  for (int i = 0; i < list.count; i++) {
    for (int64_t byte = 0; byte < list.rows[i].bytes; byte += 64) {
      __builtin_prefetch(list.rows[i].row + byte, 0, 2);
    }
  }
}
