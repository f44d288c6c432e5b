#include "tile.h"

#include "../../arch/float_state.h"
#include "../feature/normaliser.h"
#include "../visible/visible_pairs.h"
#include "engines.h"
#include "fetch.h"
#include "part_states.h"
#include "results.h"
#include "scores.h"
#include "vectors.h"
#include "walk.h"

/* Pushes the state of the tile's span to its tree. */
static void end_span(const fovea_task_context *context, fovea_tile *t) {
  const fovea_plan *plan = context->plan;
  if (context->engine->end_span) context->engine->end_span(context, t);
  if (FOVEA_BUILDS_INT8 && !fovea_has_part_spans(plan))
    fovea_finish_span(plan, &context->channels, t, fovea_span_current(&t->memory.tree));
  fovea_span_push(&t->memory.tree, t->span, plan->kernels, plan->problem.v_dim, t->visible.vectors);
}

/* Returns 1 if the tile enters the span of the current block here. */
static int enter_span(const fovea_task_context *context, fovea_tile *t) {
  int64_t span = context->walk.block / (FOVEA_BLOCK_KEYS * FOVEA_SPAN_BLOCKS);
  if (t->span == span) return 0;
  if (t->span >= 0) end_span(context, t);
  t->span = span;
  return 1;
}

static void end_tile(const fovea_task_context *context, fovea_tile *t) {
  const fovea_plan *plan = context->plan;
  const fovea_engine *engine = context->engine;
  fovea_tile_state *state = NULL;
  int whole = plan->part_keys == 0 && !plan->problem.state && !fovea_has_vectors(&plan->problem);
  if (FOVEA_BUILDS_OUTPUTS && t->scored) fovea_keep_rest(fovea_score_rows_of(context), t);
  if (engine->write_span && t->span >= 0 && whole && fovea_span_tree_is_empty(&t->memory.tree)) {
    engine->write_span(context, t);
    return;
  }
  if (t->span >= 0) {
    end_span(context, t);
    state = fovea_span_root(&t->memory.tree, context->kernels, plan->problem.v_dim, t->visible.vectors);
  }
  if (plan->part_keys > 0) {
    fovea_keep_part(context, t, state);
  } else {
    fovea_write_results(context, t, state);
  }
}

/* Takes one tile through the current block. Not inlined: keeps its frame off the stack while gathered rows are
 * computed. */
__attribute__((noinline)) static void run_block(fovea_task_context *context, fovea_tile *t) {
  fovea_visible_block visible;
  if (!fovea_enter_block(context, t, &visible)) return;
  if (FOVEA_BUILDS_TERMS && fovea_counts_keys(&context->plan->problem))
    fovea_count_visible_keys(&visible, context->kernels->lanes, fovea_seen_counts(context->plan, &t->memory));
  context->engine->compute_block(context, t, &visible, enter_span(context, t));
}

/* Takes tiles that an engine computes each by itself. */
static void compute_tiles(fovea_task_context *context, fovea_tile *tiles) {
  for (int i = 0; i < context->task->tiles; i++) {
    if (tiles[i].block == FOVEA_NO_BLOCK) {
      end_tile(context, &tiles[i]);
    } else {
      context->engine->compute_tile(context, &tiles[i]);
    }
  }
}

/* Takes the tiles through the blocks that they see, block by block. */
static void walk_tiles(fovea_task_context *context, fovea_tile *tiles) {
  fovea_fetch_first_keys(&context->keys, &context->walk);
  for (int i = 0; i < context->task->tiles; i++) {
    if (tiles[i].block == FOVEA_NO_BLOCK) end_tile(context, &tiles[i]); /* its rows see nothing */
  }
  while (fovea_next_block_of_walk(context, tiles)) {
    for (fovea_tile *t; (t = fovea_next_tile_of_walk(context, tiles)) != NULL;) {
      run_block(context, t);
      if (t->block == FOVEA_NO_BLOCK) end_tile(context, t);
    }
  }
}

/* The same for engines with keys in the lanes. Stacks of others do not hold what decoding keeps. */
__attribute__((noinline)) static void decode_tiles(fovea_task_context *context, fovea_tile *tiles,
                                                   void *worker_scratch) {
  fovea_decode_state decode;
  fovea_begin_decoding(context, &decode, worker_scratch);
  (context->engine->compute_tile ? compute_tiles : walk_tiles)(context, tiles);
}

/* A task of the first phase: takes its tiles, which all have one engine, through the keys that they see. */
static void run_tiles(fovea_task_context *context, void *worker_scratch) {
  context->engine = fovea_find_engine(context);
  fovea_tile *tiles = fovea_begin_walk(context, worker_scratch);
  if (context->engine->keys_in_lanes) {
    decode_tiles(context, tiles, worker_scratch);
  } else {
    walk_tiles(context, tiles);
  }
}

/* A task of the second phase: merges the parts of a tile into its results. */
static void run_merge(fovea_task_context *context, void *worker_scratch) {
  context->engine = fovea_find_engine(context);
  fovea_tile *t = fovea_begin_tile(context, 0, worker_scratch);
  if (FOVEA_BUILDS_INT8 && fovea_has_part_spans(context->plan) && t->block != FOVEA_NO_BLOCK)
    fovea_read_vectors(context->plan, &context->channels, &context->terms.scales, t);
  fovea_write_results(context, t, fovea_merge_parts(context, t));
}

typedef void arithmetic_call(void);

/* Modes may have to prepare the CPU: AMX has a configuration of tiles. */
static void call_once(arithmetic_call *scores, arithmetic_call *values) {
  if (scores) scores();
  if (values && values != scores) values();
}

static void begin_arithmetic(const fovea_plan *plan) {
  call_once(plan->scores ? plan->scores->begin : NULL, plan->values ? plan->values->begin : NULL);
}

static void end_arithmetic(const fovea_plan *plan) {
  call_once(plan->scores ? plan->scores->end : NULL, plan->values ? plan->values->end : NULL);
}

static void run_task(const fovea_run *run, fovea_task task, int worker,
                     void (*work)(fovea_task_context *context, void *worker_scratch)) {
  fovea_float_state caller = fovea_float_begin();
  char *worker_scratch = run->scratch + (size_t)worker * run->plan->worker_scratch;
  fovea_found_segment found[2];
  fovea_task_context context;
  fovea_begin_task(run, &task, worker_scratch, found, &context);
  if (FOVEA_BUILDS_MODES) begin_arithmetic(run->plan);
  work(&context, worker_scratch);
  if (FOVEA_BUILDS_MODES) end_arithmetic(run->plan);
  fovea_float_end(caller);
}

void fovea_attend_task(const void *run, int64_t number, int worker) {
  run_task(run, fovea_plan_task(((const fovea_run *)run)->plan, number), worker, run_tiles);
}

void fovea_merge_task(const void *run, int64_t number, int worker) {
  run_task(run, fovea_plan_merge(((const fovea_run *)run)->plan, number), worker, run_merge);
}
