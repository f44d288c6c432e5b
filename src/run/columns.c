#include "columns.h"
#include "../../arch/args/outputs.h"

#include "../../arch/float_state.h"
#include "../plan/row_numbers.h"
#include "engines.h"
#include "walk.h"

#include <string.h>

#if FOVEA_BUILDS_OUTPUTS

/* Rows that are added up together. */
enum { ROW_BLOCK = 128 };

/* The cells of a task, [head of the group][block of the task's keys]. */
typedef struct column_cells {
  float *memory;
  fovea_interval keys; /* of the task */
  int by_key;          /* the sums of a cell lie key by key, sixteen of each */
} column_cells;

static float *cell_of(const fovea_plan *plan, const column_cells *cells, int64_t head, int64_t block) {
  return cells->memory + (uint64_t)(head % plan->group * plan->column_blocks + block) * FOVEA_COLUMN_CELL;
}

static void fold(const fovea_kernels *kernels, const column_cells *cells, float *cell) {
  (cells->by_key ? kernels->column_fold_tile : kernels->column_fold)(cell + FOVEA_BLOCK_KEYS, cell);
}

/* The sums of a block of rows come before the sums of the next one. Returns the sums of the row. */
static float *begin_row(const fovea_kernels *kernels, const column_cells *cells, float *cell, int64_t row) {
  float *sums = cell + FOVEA_BLOCK_KEYS, *number = sums + FOVEA_WEIGHT_SUMS * FOVEA_BLOCK_KEYS;
  int64_t before;
  memcpy(&before, number, sizeof before);
  if (before != row / ROW_BLOCK) {
    before = row / ROW_BLOCK;
    memcpy(number, &before, sizeof before);
    fold(kernels, cells, cell);
  }
  return sums + row % FOVEA_WEIGHT_SUMS * (cells->by_key ? 1 : FOVEA_BLOCK_KEYS);
}

static int is_summed(const fovea_plan *plan, int64_t row) {
  const fovea_range rows = plan->problem.column_sums.rows;
  return rows.begin <= row && (row < rows.end || rows.end == FOVEA_UNLIMITED);
}

/* Adds weights row by row, of scores that lie row by row. */
static void add_rows(const fovea_task_context *context, const fovea_tile *t, const column_cells *cells,
                     fovea_scores_of_rows scores) {
  const fovea_plan *plan = context->plan;
  const fovea_row_numbers numbers = fovea_row_numbers_of(plan, context->shared);
  const int64_t block = (context->walk.block - cells->keys.begin) / FOVEA_BLOCK_KEYS;
  for (int i = 0; i < t->rows.count; i++) {
    const fovea_row_place place = t->places[i];
    const int64_t row = fovea_row_number(plan, context->task->entry, place.head) + place.row;
    if (!is_summed(plan, place.row)) continue;
    const fovea_column_args args = {
        .scores = scores.scores + i * FOVEA_BLOCK_KEYS + scores.keys.begin,
        .key_count = (int)(scores.keys.end - scores.keys.begin),
        .reference = numbers.references[row],
        .inverse = numbers.inverses[row],
        .sums =
            begin_row(plan->kernels, cells, cell_of(plan, cells, place.head, block), place.row) + scores.keys.begin,
    };
    context->kernels->column_add(&args);
  }
}

/* Adds weights vector by vector: a tile's rows are of one head, and follow one another. */
static void add_vectors(const fovea_task_context *context, const fovea_tile *t, const column_cells *cells,
                        const fovea_sliced_block *sliced) {
  const fovea_plan *plan = context->plan;
  const fovea_row_numbers numbers = fovea_row_numbers_of(plan, context->shared);
  const int64_t block = (context->walk.block - cells->keys.begin) / FOVEA_BLOCK_KEYS;
  const int64_t head = t->places[0].head, number = fovea_row_number(plan, context->task->entry, head);
  const int lanes = context->kernels->lanes;
  float references[FOVEA_ROW_TILE_LIMIT] = {0}, inverses[FOVEA_ROW_TILE_LIMIT] = {0},
        counted[FOVEA_ROW_TILE_LIMIT] = {0};
  for (int i = 0; i < t->rows.count; i++) {
    if (!is_summed(plan, t->places[i].row)) continue;
    counted[i] = 1.0f;
    references[i] = numbers.references[number + t->places[i].row];
    inverses[i] = numbers.inverses[number + t->places[i].row];
  }
  for (int v = 0; v < t->visible.vectors; v++) {
    const int first = v * lanes;
    const fovea_column_tile_args args = {
        .scores = context->memory.scores + first,
        .key_begin = sliced->begin[v],
        .key_end = sliced->end[v],
        .references = references + first,
        .inverses = inverses + first,
        .counted = counted + first,
        .sums = begin_row(plan->kernels, cells, cell_of(plan, cells, head, block), t->places[first].row),
    };
    context->kernels->column_add_tile(&args);
  }
}

/* Adds the weights of a tile in the current block. */
static void add_block(fovea_task_context *context, fovea_tile *t, const column_cells *cells) {
  const fovea_engine *engine = context->engine;
  fovea_visible_block visible;
  if (!fovea_enter_block(context, t, &visible)) return;
  engine->score_block(context, t, &visible);
  if (cells->by_key) {
    add_vectors(context, t, cells, &visible.sliced);
  } else {
    add_rows(context, t, cells, engine->read_scores(context, t, &visible));
  }
}

/* Takes a tile through the task's keys. */
static void add_tile(fovea_task_context *context, column_cells *cells, void *worker_scratch) {
  fovea_tile *t = fovea_begin_walk(context, worker_scratch);
  cells->by_key =
      context->plan->group == 1 && !context->engine->keys_in_lanes; /* the same for all tiles of an entry */
  const fovea_range rows = context->plan->problem.column_sums.rows;
  const int64_t first = t->places[0].row, last = t->places[t->rows.count - 1].row;
  if (last < rows.begin || (rows.end != FOVEA_UNLIMITED && first >= rows.end)) return;
  fovea_narrow_walk(context, t, cells->keys);
  while (fovea_next_block_of_walk(context, t)) {
    while (fovea_next_tile_of_walk(context, t)) add_block(context, t, cells);
  }
}

/* Ends the sums of the last rows, and writes them. */
static void write_sums(const fovea_task_context *context, const column_cells *cells) {
  const fovea_plan *plan = context->plan;
  const fovea_task *task = context->task;
  for (int64_t head = task->kv_head * plan->group; head < (task->kv_head + 1) * plan->group; head++) {
    const int64_t first = (task->entry->batch * plan->problem.heads + head) * plan->column_keys;
    for (int64_t key = cells->keys.begin; key < cells->keys.end; key += FOVEA_BLOCK_KEYS) {
      float *cell = cell_of(plan, cells, head, (key - cells->keys.begin) / FOVEA_BLOCK_KEYS);
      const int64_t count = fovea_least(FOVEA_BLOCK_KEYS, plan->column_keys - key);
      fold(plan->kernels, cells, cell);
      memcpy(context->tensors->column_sums + first + key, cell, (size_t)count * sizeof *cell);
    }
  }
}

void fovea_column_task(const void *data, int64_t number, int worker) {
  const fovea_run *run = data;
  const fovea_plan *plan = run->plan;
  char *worker_scratch = run->scratch + (size_t)worker * plan->worker_scratch;
  const fovea_float_state caller = fovea_float_begin();
  fovea_interval keys;
  fovea_task task = fovea_plan_column_task(plan, number, &keys);
  fovea_found_segment found[2];
  fovea_decode_state decode;
  fovea_task_context context;
  fovea_begin_task(run, &task, worker_scratch, found, &context);
  context.engine = fovea_find_engine(&context);
  fovea_begin_decoding(&context, &decode, worker_scratch);
  column_cells cells = {fovea_block_array(plan, &context.memory, FOVEA_SCRATCH_COLUMN_SUMS), keys, 0};
  memset(cells.memory, 0, (size_t)plan->group * (size_t)plan->column_blocks * FOVEA_COLUMN_CELL * sizeof(float));
  for (const int64_t tiles = fovea_plan_tiles(plan, task.entry); task.first_tile < tiles; task.first_tile++) {
    add_tile(&context, &cells, worker_scratch);
  }
  write_sums(&context, &cells);
  fovea_float_end(caller);
}
#endif
