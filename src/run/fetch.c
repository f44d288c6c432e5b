#include "fetch.h"

#include "../base/types.h"

/* Distance, in keys, at which K is prefetched in the first block of a task. The products of a few register tiles
 * take long enough to cover the latency of L3. */
enum { PREFETCH_KEYS = 24 };

static void add_row(fovea_fetch_list *list, const void *row, fovea_type type, int64_t dim) {
  list->rows[list->count++] = (fovea_fetch_row){row, fovea_bytes(type, dim)};
}

/* Lists `count` rows from `position` on. Rows in panels are not prefetched. */
static void fetch_run(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t position,
                      int64_t count, fovea_fetch_list *list) {
  int64_t end = position + count < context->walk.keys_end ? position + count : context->walk.keys_end;
  while (position < end) {
    fovea_row_run run = find(context, position);
    if (run.panels || run.codes) {
      position = run.end;
      continue;
    }
    for (; position < end && position < run.end; position++, run.row += run.step)
      add_row(list, run.row, run.type, dim);
  }
}

/* Rows of one place, one after the other. */
typedef struct fetch_place {
  const char *row;
  int64_t step, bytes; /* bytes is 0 if the rows are not prefetched */
  int64_t left;        /* rows until there is another run to be found */
} fetch_place;

static fetch_place find_place(const fovea_task_context *context, fovea_find_run *find, int64_t dim,
                              int64_t position) {
  if (position >= context->walk.keys_end) return (fetch_place){.left = INT64_MAX};
  const fovea_row_run run = find(context, position);
  const int64_t end = run.end < context->walk.keys_end ? run.end : context->walk.keys_end;
  return (fetch_place){run.row, run.step, run.panels || run.codes ? 0 : fovea_bytes(run.type, dim), end - position};
}

/* Lists this tile's share of the next block, from four places in turn. The prefetcher of L2 runs ahead in each page
 * in which it has seen consecutive lines. In four pages at once it keeps more lines in flight than a core's fill
 * buffers do in one. Rows of the smallest pages lie nowhere one after the other, and are listed in their order, in
 * which each page is found from the one before. */
static void fetch_share(const fovea_task_context *context, fovea_find_run *find, int64_t dim,
                        fovea_fetch_list *list) {
  enum { PLACES = 4, QUARTER = FOVEA_BLOCK_KEYS / PLACES };
  fetch_place places[PLACES] = {{0}};
  const unsigned tile = (unsigned)context->walk.tile, tiles = (unsigned)context->walk.tiles;
  const unsigned first = tile * FOVEA_BLOCK_KEYS / tiles, end = (tile + 1) * FOVEA_BLOCK_KEYS / tiles;
  const int64_t begin = context->walk.next_block + first;
  fovea_fetch_row *row = list->rows + list->count;
  if (begin < context->walk.keys_end && find(context, begin).end - begin < PLACES) {
    fetch_run(context, find, dim, begin, end - first, list);
    return;
  }
  for (unsigned n = first; n < end; n++) {
    fetch_place *place = &places[n % PLACES];
    if (place->left == 0) {
      *place = find_place(context, find, dim, context->walk.next_block + n % PLACES * QUARTER + n / PLACES);
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
static void fetch_mask(const fovea_task_context *context, const fovea_tile *t, int64_t base,
                       fovea_fetch_list *list) {
  const fovea_problem *problem = &context->plan->problem;
  int64_t begin = context->task->entry->mask_begin, end = base + FOVEA_BLOCK_KEYS;
  if (begin < base) begin = base;
  if (end > t->visible.any.end) end = t->visible.any.end;
  if (problem->mask_type == FOVEA_MASK_NONE || problem->mask_strides.key == 0 || begin >= end) return;
  int64_t bytes = fovea_mask_bytes(problem->mask_type, end - begin);
  for (int i = 0; i < t->rows.count; i++) {
    list->rows[list->count++] = (fovea_fetch_row){fovea_mask_row(&context->visibility, t->places[i], begin), bytes};
  }
}

/* Whether the share of the next block's values is prefetched during the products with this block's values: those of
 * exact mode slow down if tiles are large. */
static int values_fetch(const fovea_task_context *context, const fovea_tile *t) {
  if (context->walk.first) return 0;
  return context->plan->values ||
         t->visible.vectors * context->kernels->lanes <= context->kernels->value_fetch_rows;
}

/* Keys and values come from far away once, and then every tile of the task reads them. Each tile prefetches its
 * share of the next block: a core has too few lines in flight to fetch a block during one tile, so the fetches are
 * spread over all tiles. In the first block of a task the first tile prefetches for itself. A tile that begins
 * prefetches the next tile's queries; before it ends it prefetches its own rows of O. The mask is prefetched one
 * tile before it is read and no earlier: its rows often lie a power of two apart and crowd few sets of the cache.
 */
static void plan_score_fetch(const fovea_task_context *context, const fovea_tile *t, int64_t key, int key_count,
                             fovea_fetch_list *list) {
  const fovea_problem *problem = &context->plan->problem;
  if (context->walk.first) {
    /* The operands of modes are made before the products. Those of scores may prefetch meanwhile, also values. */
    const fovea_arithmetic *scores = context->plan->scores;
    const int loads = scores && scores->loads_fetch;
    if (!scores || loads) fetch_run(context, fovea_key_run, problem->qk_dim, key + PREFETCH_KEYS, key_count, list);
    if (!context->plan->values || loads) fetch_run(context, fovea_value_run, problem->v_dim, key, key_count, list);
  } else {
    fetch_share(context, fovea_key_run, problem->qk_dim, list);
    if (!values_fetch(context, t)) fetch_share(context, fovea_value_run, problem->v_dim, list);
  }
  if (context->walk.next_tile) fetch_mask(context, context->walk.next_tile, context->walk.next_tile_block, list);
}

/* Whether the tile prefetches its rows of O in this block: the one before its last, because in causal problems the
 * last one has few products to wait beside; or in its only one. */
static int outputs_fetch(const fovea_task_context *context, const fovea_tile *t) {
  if (context->plan->problem.to_state) return 0;
  if (t->block == FOVEA_NO_BLOCK) return fovea_next_block(&t->visible, 0) == context->walk.block;
  return fovea_next_block(&t->visible, t->block + FOVEA_BLOCK_KEYS) == FOVEA_NO_BLOCK;
}

/* Lists queries of a tile that begins next, and this tile's rows of O: each `step`-th from `first` on. */
static void fetch_rows_of_tiles(const fovea_task_context *context, const fovea_tile *t, int first, int step,
                                fovea_fetch_list *list) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_tile *unloaded = context->walk.unloaded;
  for (int i = first; unloaded && i < unloaded->rows.count; i += step)
    add_row(list, unloaded->queries[i], problem->q_type, problem->qk_dim);
  if (!outputs_fetch(context, t)) return;
  for (int i = first; i < t->rows.count; i += step) add_row(list, t->outputs[i], problem->o_type, problem->v_dim);
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

void fovea_plan_fetch(const fovea_task_context *context, const fovea_tile *t, const fovea_sliced_block *sliced,
                      fovea_fetch *fetch) {
  const fovea_block_slice *first = &sliced->slices[0];
  fetch->slice = context->walk.first ? 0 : largest_slice(sliced);
  fetch->score = fetch->value = (fovea_fetch_list){0, fetch->rows};
  if (context->walk.keys_end - context->walk.keys_begin <= PREFETCH_KEYS) return; /* not worth the instructions */
  const int both = values_fetch(context, t); /* then half of the tiles' rows are prefetched in each */
  if (both) {
    fetch_share(context, fovea_value_run, context->plan->problem.v_dim, &fetch->value);
    fetch_rows_of_tiles(context, t, 1, 2, &fetch->value);
    fetch->score.rows += fetch->value.count;
  }
  plan_score_fetch(context, t, context->walk.block + first->begin, first->end - first->begin, &fetch->score);
  fetch_rows_of_tiles(context, t, 0, both ? 2 : 1, &fetch->score);
}

void fovea_fetch_first_keys(const fovea_task_context *context) {
  int64_t first = context->walk.keys_begin;
  const fovea_problem *problem = &context->plan->problem;
  if (context->walk.keys_end - first <= PREFETCH_KEYS) return;
  fovea_fetch_row rows[PREFETCH_KEYS];
  fovea_fetch_list list = {0, rows};
  fetch_run(context, fovea_key_run, problem->qk_dim, first, PREFETCH_KEYS, &list);
  for (int i = 0; i < list.count; i++) {
    for (int64_t byte = 0; byte < list.rows[i].bytes; byte += 64) {
      __builtin_prefetch(list.rows[i].row + byte, 0, 2);
    }
  }
}
