#include "tile.h"

#include "../../arch/float_state.h"
#include "../plan/parts.h"
#include "../state/groups.h"
#include "block.h"
#include "decode.h"
#include "fetch.h"
#include "part_states.h"
#include "queries.h"
#include "run.h"

static void store_tile(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state) {
  const fovea_plan *plan = context->plan;
  const fovea_problem *problem = &plan->problem;
  const fovea_tensors *tensors = context->tensors;
  void *rows[FOVEA_ROW_TILE_LIMIT];
  float *lse[FOVEA_ROW_TILE_LIMIT], sinks[FOVEA_ROW_TILE_LIMIT] = {0};
  fovea_row_place place = fovea_first_place(plan, t->rows);
  for (int i = 0; i < t->rows.count; i++, place = fovea_next_place(plan, place)) {
    rows[i] = fovea_output_element(tensors->o, problem->o_type,
                                   fovea_place_offset(plan, problem->o_strides, context->task, place));
    if (tensors->lse) {
      lse[i] = tensors->lse + fovea_place_offset(plan, problem->lse_strides, context->task, place);
    }
    if (problem->sink == FOVEA_SINK_PER_HEAD) {
      sinks[i] = fovea_sink_of_head(tensors, context->task->kv_head * plan->group + place.head);
    }
  }
  fovea_store_args args = {
      .state = *state,
      .dim = problem->v_dim,
      .row_count = t->rows.count,
      .rows = rows,
      .type = problem->o_type,
      .lse = tensors->lse ? lse : NULL,
      .sinks = problem->sink == FOVEA_SINK_NONE ? NULL : sinks,
  };
  context->kernels->store(&args);
}

/* The state of a node. */
static void store_state(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state) {
  const fovea_plan *plan = context->plan;
  const fovea_state *to = context->tensors->state;
  int64_t dim = plan->problem.v_dim, node = context->task->part * fovea_group_numbers(dim);
  float *rows[FOVEA_ROW_TILE_LIMIT];
  fovea_row_place place = fovea_first_place(plan, t->rows);
  for (int i = 0; i < t->rows.count; i++, place = fovea_next_place(plan, place)) {
    rows[i] = to->numbers + fovea_place_offset(plan, to->strides, context->task, place) + node;
  }
  fovea_write_outputs(context->kernels, state, dim, t->rows.count, rows);
  for (int i = 0; i < t->rows.count; i++) rows[i] += dim;
  fovea_write_sums(state, t->rows.count, rows);
}

/* The results of a tile; NULL: none of its rows has seen a key. */
static void finish_tile(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state) {
  if (!state) {
    state = fovea_span_current(&t->memory.tree);
    fovea_clear_state(context, state);
  }
  if (context->plan->problem.to_state) {
    store_state(context, t, state);
  } else {
    store_tile(context, t, state);
  }
}

static void end_tile(const fovea_task_context *context, fovea_tile *t) {
  const fovea_plan *plan = context->plan;
  fovea_tile_state *state = NULL;
  if (t->span >= 0) {
    if (t->few) fovea_end_decoded_span(context, t);
    fovea_span_push(&t->memory.tree, t->span, context->kernels, plan->problem.v_dim, t->view.vectors);
    state = fovea_span_root(&t->memory.tree, context->kernels, plan->problem.v_dim, t->view.vectors);
  }
  if (plan->part_keys > 0) {
    fovea_keep_part(context, t, state);
  } else {
    finish_tile(context, t, state);
  }
}

static int meets(const fovea_tile *t, int64_t base) {
  return t->view.any.begin < base + FOVEA_BLOCK_KEYS && base < t->view.any.end;
}

/* Which tile is at work after the current one, of those that meet this block, or of all in the next block. */
static void find_next_tile(fovea_task_context *context, fovea_tile *const *meeting, fovea_tile *tiles, int count) {
  int last = context->tile + 1 == context->tiles;
  context->next_tile = last ? NULL : meeting[context->tile + 1];
  context->next_tile_block = last ? context->next_block : context->next_block - FOVEA_BLOCK_KEYS;
  for (int i = 0; last && i < count && !context->next_tile; i++) {
    if (meets(&tiles[i], context->next_block)) context->next_tile = &tiles[i];
  }
}

/* Every tile that meets the block of keys at `base`, one after the other. */
static void run_tiles(fovea_task_context *context, fovea_tile *tiles, int count, int64_t base) {
  fovea_tile *meeting[FOVEA_TASK_TILES_LIMIT];
  context->next_block = base + FOVEA_BLOCK_KEYS;
  context->tiles = 0;
  for (int i = 0; i < count; i++) {
    if (meets(&tiles[i], base)) meeting[context->tiles++] = &tiles[i];
  }
  context->block = (fovea_block_rows){.placed = 0}; /* when a tile comes to it: a mask may hide all of it */
  for (context->tile = 0; context->tile < context->tiles; context->tile++) {
    fovea_tile *t = meeting[context->tile];
    int begins = !t->begun;
    find_next_tile(context, meeting, tiles, count);
    context->unbegun =
        begins && context->next_tile_block == base && !context->next_tile->begun ? context->next_tile : NULL;
    if (begins) (t->few ? fovea_begin_decoding : fovea_load_queries)(context, t);
    (t->few ? fovea_decode_block : fovea_run_block)(context, t, base);
    context->first_block = 0;
    if (t->view.any.end <= context->next_block) end_tile(context, t);
  }
}

/* Told by the first segment: where layouts are mixed, either way goes. Where no key is wanted nobody has looked at
 * the segments, and they need not be there. */
static int lies_in_panels(const fovea_plan *plan, const fovea_entry *entry, const fovea_tensors *tensors) {
  if (!plan->problem.segmented || entry->q_seen == 0 || entry->kv_begin >= entry->kv_len) return 0;
  return tensors->sequences[entry->batch].segments[0].k_layout == FOVEA_KEYS_IN_PANELS;
}

/* Prepares the task's tiles. Returns the keys that they meet; end is 0 where they see nothing. */
static fovea_interval begin_tiles(const fovea_task_context *context, fovea_tile *tiles, void *worker_scratch) {
  const fovea_plan *plan = context->plan;
  const fovea_task *task = context->task;
  const int few = fovea_has_few_rows(plan, task->entry, lies_in_panels(plan, task->entry, context->tensors));
  fovea_interval keys = {INT64_MAX, 0};
  for (int i = 0; i < task->tiles; i++) {
    fovea_tile *t = &tiles[i];
    t->rows = fovea_plan_tile_rows(plan, task->entry, task->first_tile + i);
    t->memory = fovea_scratch_tile(plan, worker_scratch, i);
    t->span = -1;
    t->begun = t->paired = t->widened = 0;
    t->few = few;
    fovea_view_tile(plan, task->entry, t->rows, &t->view);
    if (fovea_has_parts(plan)) t->view.any = fovea_meet(t->view.any, fovea_part_keys(plan, task));
    if (t->view.any.end == 0) continue;
    if (t->view.any.begin < keys.begin) keys.begin = t->view.any.begin;
    if (t->view.any.end > keys.end) keys.end = t->view.any.end;
  }
  return keys;
}

/* Where the entry's keys and values begin. */
static void find_keys(fovea_task_context *context, fovea_interval keys) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_entry *entry = context->task->entry;
  context->keys_begin = keys.begin;
  context->keys_end = keys.end;
  if (problem->segmented) {
    const fovea_sequence *sequence = &context->tensors->sequences[entry->batch];
    context->segments = sequence->segments;
    context->segment_count = sequence->count;
    fovea_fetch_first_keys(context, keys.begin);
    return;
  }
  int packed = problem->cu_seqlens_kv != NULL;
  int64_t head = context->task->kv_head;
  int64_t key = fovea_tensor_offset(problem->k_strides, entry, packed, head, entry->kv_first);
  int64_t value = fovea_tensor_offset(problem->v_strides, entry, packed, head, entry->kv_first);
  context->keys = fovea_element(context->tensors->k, problem->k_type, key);
  context->values = fovea_element(context->tensors->v, problem->v_type, value);
  fovea_fetch_first_keys(context, keys.begin);
}

static void run_keys(fovea_task_context *context, void *worker_scratch) {
  const fovea_task *task = context->task;
  fovea_tile tiles[FOVEA_TASK_TILES_LIMIT];
  fovea_interval keys = begin_tiles(context, tiles, worker_scratch);
  if (keys.end > 0) find_keys(context, keys); /* else K and V may be NULL */
  for (int64_t base = keys.begin / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS; base < keys.end; base += FOVEA_BLOCK_KEYS) {
    run_tiles(context, tiles, (int)task->tiles, base);
  }
  for (int i = 0; i < task->tiles; i++) {
    if (tiles[i].view.any.end == 0) end_tile(context, &tiles[i]); /* rows that see nothing */
  }
}

/* The second phase: a tile's parts become its results. */
static void run_merge(const fovea_task_context *context, void *worker_scratch) {
  fovea_tile tile = {.rows = fovea_plan_tile_rows(context->plan, context->task->entry, context->task->first_tile),
                     .memory = fovea_scratch_tile(context->plan, worker_scratch, 0)};
  fovea_view_tile(context->plan, context->task->entry, tile.rows, &tile.view);
  finish_tile(context, &tile, fovea_merge_parts(context, &tile));
}

/* What the steps of a task share. `found` and `decode` are the task's own. */
static fovea_task_context begin_task(const fovea_run *run, const fovea_task *task, char *worker_scratch,
                                     fovea_decode_state *decode, const fovea_segment **found) {
  const fovea_plan *plan = run->plan;
  *found = NULL;
  decode->memory = fovea_scratch_decode(plan, worker_scratch); /* the rest is set when a tile of few rows begins */
  return (fovea_task_context){
      .plan = plan,
      .kernels = plan->kernels,
      .task = task,
      .tensors = &run->tensors,
      .shared = (float *)(void *)(run->scratch + (size_t)run->workers * plan->worker_scratch),
      .memory = fovea_scratch_block(plan, worker_scratch),
      .decode = decode,
      .found = found,
      .first_block = 1,
  };
}

void fovea_attend_task(const void *data, int64_t number, int worker) {
  const fovea_run *run = data;
  fovea_float_state caller = fovea_float_begin();
  char *worker_scratch = run->scratch + (size_t)worker * run->plan->worker_scratch;
  fovea_task task = fovea_plan_task(run->plan, number);
  fovea_decode_state decode;
  const fovea_segment *found;
  fovea_task_context context = begin_task(run, &task, worker_scratch, &decode, &found);
  run_keys(&context, worker_scratch);
  fovea_float_end(caller);
}

void fovea_merge_task(const void *data, int64_t number, int worker) {
  const fovea_run *run = data;
  fovea_float_state caller = fovea_float_begin();
  char *worker_scratch = run->scratch + (size_t)worker * run->plan->worker_scratch;
  fovea_task task = fovea_plan_merge(run->plan, number);
  fovea_decode_state decode;
  const fovea_segment *found;
  fovea_task_context context = begin_task(run, &task, worker_scratch, &decode, &found);
  run_merge(&context, worker_scratch);
  fovea_float_end(caller);
}
