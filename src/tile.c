#include "tile.h"

#include "scratch.h"
#include "segments.h"
#include "spans.h"

#include <string.h>

/* Row tiles of a task at most: block_tiles of any kernel table. */
enum { TILES_LIMIT = 16 };

typedef struct tile {
  fovea_tile_rows rows;
  fovea_tile_view view;
  fovea_tile_memory memory;
  int64_t span; /* the span that the current state gathers; -1: none yet */
} tile;

/* What the steps of one task share. */
typedef struct task_context {
  const fovea_plan *plan;
  const fovea_kernels *kernels;
  const fovea_task *task;
  const fovea_tensors *tensors;
  const float *keys, *values; /* the entry's position 0 of the kv head */
  fovea_block_memory block;
  int64_t keys_begin, keys_end; /* of the keys that the task meets */
  int64_t next_block;           /* position of the block after this one */
  int keys_copied;              /* the keys of this block lie in scratch too, row by row */
  int packed;                   /* the values of this block lie in the panel too */
  int first_block;              /* this is the first tile in the first block of the task */
  const tile *unbegun;          /* the tile whose queries are loaded next; NULL: none */
  int tile, tiles;              /* the tile at work, of how many that meet this block */
} task_context;

static int64_t offset_of(fovea_strides strides, const fovea_entry *entry, int packed, int64_t head, int64_t row) {
  return (packed ? 0 : entry->batch * strides.batch) + head * strides.head + row * strides.row;
}

/* Where row `index` of a tile lies: rows of a kv head are numbered row * group + head within the group. */
static int64_t row_offset(const fovea_plan *plan, fovea_strides strides, const fovea_task *task, int64_t index) {
  int64_t head = task->kv_head * plan->group + index % plan->group;
  return offset_of(strides, task->entry, plan->problem.cu_seqlens_q != NULL, head,
                   task->entry->q_first + index / plan->group);
}

static void load_queries(const task_context *context, const tile *t) {
  const fovea_plan *plan = context->plan;
  const float *rows[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < t->rows.count; i++) {
    rows[i] = (const float *)context->tensors->q +
              row_offset(plan, plan->problem.q_strides, context->task, t->rows.first + i);
  }
  fovea_load_args args = {rows, t->rows.count, plan->problem.qk_dim, t->memory.queries};
  context->kernels->load_queries(&args);
}

/* Row intervals as a kernel wants them, counted from the segment's first key. */
static void seen_from_key(const tile *t, int64_t key, int32_t *from, int32_t *to, int rows) {
  for (int i = 0; i < rows; i++) {
    int64_t begin = t->view.rows[i].begin - key, end = t->view.rows[i].end - key;
    from[i] = (int32_t)(begin < 0 ? 0 : begin > FOVEA_BLOCK_KEYS ? FOVEA_BLOCK_KEYS : begin);
    to[i] = (int32_t)(end < 0 ? 0 : end > FOVEA_BLOCK_KEYS ? FOVEA_BLOCK_KEYS : end);
  }
}

/* Keys by which K is fetched ahead within the first block of a task: what the products of a few register tiles take
 * covers the latency of L3. */
enum { FETCH_AHEAD = 24 };
enum { FETCH_LIMIT = 2 * FOVEA_BLOCK_KEYS + 2 * FOVEA_ROW_TILE_LIMIT };

typedef struct fetch_list {
  int count;
  fovea_fetch_row rows[FETCH_LIMIT];
} fetch_list;

static void fetch_keys(const task_context *context, int64_t key, int64_t value, int64_t count, fetch_list *list) {
  const fovea_problem *problem = &context->plan->problem;
  for (int64_t i = 0; i < count; i++) {
    if (key + i < context->keys_end) {
      list->rows[list->count++] =
          (fovea_fetch_row){context->keys + (key + i) * problem->k_strides.row, problem->qk_dim};
    }
    if (value + i < context->keys_end) {
      list->rows[list->count++] =
          (fovea_fetch_row){context->values + (value + i) * problem->v_strides.row, problem->v_dim};
    }
  }
}

/* What a tile asks for while it computes its scores. Keys and values come from far away once and are then met by
 * every tile of the task: each asks for its share of the next block, so that the fetches are spread over the whole
 * time that this block takes, since a core has too few of them in flight to fetch a block within one tile. In the
 * first block of a task the first tile fetches for itself. A tile that begins asks for the next tile's queries, and
 * one that ends for its own output rows. */
static void plan_fetch(const task_context *context, const tile *t, int64_t base, int64_t key, int key_count,
                       fetch_list *list) {
  const fovea_plan *plan = context->plan;
  list->count = 0;
  if (context->first_block) {
    fetch_keys(context, key + FETCH_AHEAD, key, key_count, list);
  } else {
    int64_t first = context->next_block + (int64_t)context->tile * FOVEA_BLOCK_KEYS / context->tiles;
    int64_t end = context->next_block + (int64_t)(context->tile + 1) * FOVEA_BLOCK_KEYS / context->tiles;
    fetch_keys(context, first, first, end - first, list);
  }
  if (context->unbegun) {
    for (int i = 0; i < context->unbegun->rows.count; i++) {
      list->rows[list->count++] = (fovea_fetch_row){
          (const float *)context->tensors->q +
              row_offset(plan, plan->problem.q_strides, context->task, context->unbegun->rows.first + i),
          plan->problem.qk_dim};
    }
  }
  if (t->view.any.end <= base + FOVEA_BLOCK_KEYS) {
    for (int i = 0; i < t->rows.count; i++) {
      list->rows[list->count++] =
          (fovea_fetch_row){(float *)context->tensors->o +
                                row_offset(plan, plan->problem.o_strides, context->task, t->rows.first + i),
                            plan->problem.v_dim};
    }
  }
}

static void score_block(const task_context *context, const tile *t, int64_t base, const fovea_block_view *view) {
  const fovea_plan *plan = context->plan;
  int row_tile = context->kernels->row_tile, rows = t->view.vectors * context->kernels->lanes;
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  fetch_list list;
  for (int i = 0; i < rows; i++) context->block.maxima[i] = -__builtin_inff();
  for (int i = 0; i < view->count; i++) {
    const fovea_segment *segment = &view->segments[i];
    fovea_score_args args = {
        .queries = t->memory.queries,
        .keys = context->keys_copied ? context->block.keys + segment->begin * plan->problem.qk_dim
                                     : context->keys + (base + segment->begin) * plan->problem.k_strides.row,
        .key_stride = context->keys_copied ? plan->problem.qk_dim : plan->problem.k_strides.row,
        .dim = plan->problem.qk_dim,
        .key_count = segment->end - segment->begin,
        .c = plan->c,
        .scores = context->block.scores + segment->begin * row_tile,
        .maxima = context->block.maxima,
        .vectors = segment->vectors,
    };
    if (i == 0) {
      plan_fetch(context, t, base, base + segment->begin, args.key_count, &list);
      args.ahead = list.rows;
      args.ahead_count = list.count;
    }
    if (segment->masked) {
      seen_from_key(t, base + segment->begin, seen_from, seen_to, rows);
      args.seen_from = seen_from;
      args.seen_to = seen_to;
    }
    context->kernels->score(&args);
  }
}

/* Softmax of every vector that looks at keys of this block. Returns 1 when some row got no state from it. */
static int softmax_block(const task_context *context, const fovea_tile_state *state, const fovea_block_view *view,
                         int vectors, int first) {
  int stateless = 0;
  for (int v = 0; v < vectors; v++) {
    if (view->begin[v] == view->end[v]) continue;
    int run = 1;
    while (v + run < vectors && view->begin[v + run] != view->end[v + run]) run++;
    fovea_softmax_args args = {
        .scores = context->block.scores,
        .maxima = context->block.maxima,
        .row_max = state->row_max,
        .row_sum = state->row_sum,
        .block_sum = context->block.block_sum,
        .old_part = context->block.old_part,
        .new_part = context->block.new_part,
        .first = first,
        .vectors = {v, run},
        .key_begin = view->begin,
        .key_end = view->end,
    };
    stateless |= context->kernels->softmax(&args);
    v += run;
  }
  return stateless;
}

/* Whether V holds NaN or Inf where weight 0 is to hide it: at keys that some row does not see, or everywhere when
 * some row has no state. */
static int needs_care(const task_context *context, int64_t base, const fovea_block_view *view, int stateless) {
  const fovea_problem *problem = &context->plan->problem;
  for (int i = 0; i < view->count; i++) {
    const fovea_segment *segment = &view->segments[i];
    if (!segment->masked && !stateless) continue;
    const float *values = context->values + (base + segment->begin) * problem->v_strides.row;
    if (!context->kernels->all_finite(values, problem->v_strides.row, segment->end - segment->begin,
                                      problem->v_dim)) {
      return 1;
    }
  }
  return 0;
}

static void value_block(const task_context *context, const tile *t, const fovea_tile_state *state, int64_t base,
                        const fovea_block_view *view, int first, int careful) {
  const fovea_problem *problem = &context->plan->problem;
  int row_tile = context->kernels->row_tile, rows = t->view.vectors * context->kernels->lanes;
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < view->count; i++) {
    const fovea_segment *segment = &view->segments[i];
    /* A segment may start the chains of some of its vectors and end those of others: one run for each case. */
    for (int v = segment->vectors.first, end = v + segment->vectors.count; v < end;) {
      int starts = view->begin[v] == segment->begin, ends = view->end[v] == segment->end, run = 1;
      while (v + run < end && (view->begin[v + run] == segment->begin) == starts &&
             (view->end[v + run] == segment->end) == ends) {
        run++;
      }
      fovea_value_args args = {
          .weights = context->block.scores + segment->begin * row_tile,
          .values = context->values + (base + segment->begin) * problem->v_strides.row,
          .value_stride = problem->v_strides.row,
          .panel = context->packed ? context->block.panel + segment->begin * context->kernels->panel_dims : NULL,
          .dim = problem->v_dim,
          .key_count = segment->end - segment->begin,
          .flags = (starts ? FOVEA_VALUE_START : 0) | (!ends   ? 0
                                                       : first ? FOVEA_VALUE_ASSIGN
                                                               : FOVEA_VALUE_MERGE),
          .partial = context->block.partial,
          .output = state->output,
          .old_part = context->block.old_part,
          .new_part = context->block.new_part,
          .vectors = {v, run},
          .maxima = context->block.maxima,
          .block_sum = context->block.block_sum,
      };
      if (careful && segment->masked) {
        seen_from_key(t, base + segment->begin, seen_from, seen_to, rows);
        args.seen_from = seen_from;
        args.seen_to = seen_to;
      }
      (careful ? context->kernels->value_careful : context->kernels->value)(&args);
      v += run;
    }
  }
}

static void clear_state(const task_context *context, const fovea_tile_state *state) {
  int64_t row_tile = context->kernels->row_tile;
  for (int64_t i = 0; i < row_tile; i++) {
    state->row_max[i] = -__builtin_inff();
    state->row_sum[i] = 0;
  }
  for (int64_t i = 0; i < row_tile * context->plan->problem.v_dim; i++) state->output[i] = 0;
}

static void run_block(const task_context *context, tile *t, int64_t base) {
  const fovea_plan *plan = context->plan;
  const int64_t span_keys = FOVEA_BLOCK_KEYS * FOVEA_SPAN_BLOCKS;
  fovea_block_view view;
  int first = t->span != base / span_keys;
  if (first && t->span >= 0) {
    fovea_span_push(&t->memory.tree, t->span, context->kernels, plan->problem.v_dim, t->view.vectors);
  }
  t->span = base / span_keys;
  fovea_view_block(&t->view, base, &view);
  fovea_tile_state *state = fovea_span_current(&t->memory.tree);
  for (int v = 0; first && v < t->view.vectors; v++) {
    if (view.begin[v] != view.end[v]) continue;
    clear_state(context, state); /* not every row begins here: all merge with a state that is none */
    first = 0;
  }
  score_block(context, t, base, &view);
  int stateless = softmax_block(context, state, &view, t->view.vectors, first);
  value_block(context, t, state, base, &view, first, needs_care(context, base, &view, stateless));
}

static void end_tile(const task_context *context, tile *t) {
  const fovea_plan *plan = context->plan;
  const fovea_tensors *tensors = context->tensors;
  const fovea_task *task = context->task;
  float *rows[FOVEA_ROW_TILE_LIMIT], *lse[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < t->rows.count; i++) {
    int64_t index = t->rows.first + i;
    rows[i] = (float *)tensors->o + row_offset(plan, plan->problem.o_strides, task, index);
    if (tensors->lse) lse[i] = tensors->lse + row_offset(plan, plan->problem.lse_strides, task, index);
  }
  fovea_tile_state *state = fovea_span_current(&t->memory.tree);
  if (t->span >= 0) {
    fovea_span_push(&t->memory.tree, t->span, context->kernels, plan->problem.v_dim, t->view.vectors);
    state = fovea_span_root(&t->memory.tree, context->kernels, plan->problem.v_dim, t->view.vectors);
  } else {
    clear_state(context, state);
  }
  fovea_store_args args = {*state, plan->problem.v_dim, t->rows.count, rows, tensors->lse ? lse : NULL};
  context->kernels->store(&args);
}

/* The first keys that a task meets are asked for while its queries are loaded. */
static void fetch_first_keys(const task_context *context, int64_t first) {
  const fovea_problem *problem = &context->plan->problem;
  const int64_t line = 64 / sizeof(float);
  int64_t end = first + FETCH_AHEAD < context->keys_end ? first + FETCH_AHEAD : context->keys_end;
  for (int64_t key = first; key < end; key++) {
    const float *row = context->keys + key * problem->k_strides.row;
    for (int64_t d = 0; d < problem->qk_dim; d += line) __builtin_prefetch(row + d, 0, 2);
  }
}

/* Tiles that must share a copy of a block for it to pay. */
enum { TILES_WORTH_COPYING = 4 };

/* Rows at multiples of a kilobyte fall on at most four of the 64 sets of a 4 KB-indexed first cache, far fewer ways
 * than a block has rows. */
static int crowds_sets(int64_t row_stride) {
  return row_stride * (int64_t)sizeof(float) % 1024 == 0;
}

/* Copies the keys and values of a block to where they lie close together, if that pays. */
static void copy_block(task_context *context, int64_t base) {
  const fovea_problem *problem = &context->plan->problem;
  int64_t begin = base > context->keys_begin ? base : context->keys_begin, end = base + FOVEA_BLOCK_KEYS;
  int64_t key_stride = problem->k_strides.row, value_stride = problem->v_strides.row, dim = problem->qk_dim;
  if (end > context->keys_end) end = context->keys_end;
  context->keys_copied = context->tiles >= TILES_WORTH_COPYING && key_stride != dim && crowds_sets(key_stride);
  for (int64_t key = begin; context->keys_copied && key < end; key++) {
    memcpy(context->block.keys + (key - base) * dim, context->keys + key * key_stride, (size_t)dim * sizeof(float));
  }
  context->packed =
      context->tiles >= TILES_WORTH_COPYING && (context->kernels->panel_always || crowds_sets(value_stride));
  if (!context->packed) return;
  fovea_pack_args args = {
      .values = context->values + begin * value_stride,
      .value_stride = value_stride,
      .dim = problem->v_dim,
      .key_count = (int)(end - begin),
      .panel = context->block.panel + (begin - base) * context->kernels->panel_dims,
  };
  context->kernels->pack_values(&args);
}

/* Every tile that meets the block of keys at `base`, one after the other. */
static void run_tiles(task_context *context, tile *tiles, int count, int64_t base) {
  tile *meeting[TILES_LIMIT];
  context->next_block = base + FOVEA_BLOCK_KEYS;
  context->tiles = 0;
  for (int i = 0; i < count; i++) {
    if (tiles[i].view.any.begin < base + FOVEA_BLOCK_KEYS && base < tiles[i].view.any.end) {
      meeting[context->tiles++] = &tiles[i];
    }
  }
  copy_block(context, base);
  for (context->tile = 0; context->tile < context->tiles; context->tile++) {
    tile *t = meeting[context->tile];
    int begins = t->span < 0, last = context->tile + 1 == context->tiles;
    context->unbegun = begins && !last && meeting[context->tile + 1]->span < 0 ? meeting[context->tile + 1] : NULL;
    if (begins) load_queries(context, t);
    run_block(context, t, base);
    context->first_block = 0;
    if (t->view.any.end <= context->next_block) end_tile(context, t);
  }
}

void fovea_run_task(const fovea_plan *plan, const fovea_tensors *tensors, int64_t number, void *worker_scratch) {
  const fovea_problem *problem = &plan->problem;
  fovea_task task = fovea_plan_task(plan, number);
  const fovea_entry *entry = task.entry;
  int packed = problem->cu_seqlens_kv != NULL;
  task_context context = {
      .plan = plan,
      .kernels = plan->kernels,
      .task = &task,
      .tensors = tensors,
      .block = fovea_scratch_block(plan, worker_scratch),
      .first_block = 1,
  };
  tile tiles[TILES_LIMIT];
  fovea_interval keys = {INT64_MAX, 0};
  for (int i = 0; i < task.tiles; i++) {
    tiles[i].rows = fovea_plan_tile_rows(plan, entry, task.first_tile + i);
    tiles[i].memory = fovea_scratch_tile(plan, worker_scratch, i);
    tiles[i].span = -1;
    fovea_view_tile(plan, entry, tiles[i].rows, &tiles[i].view);
    if (tiles[i].view.any.end == 0) continue;
    if (tiles[i].view.any.begin < keys.begin) keys.begin = tiles[i].view.any.begin;
    if (tiles[i].view.any.end > keys.end) keys.end = tiles[i].view.any.end;
  }
  if (keys.end > 0) { /* else K and V may be NULL */
    context.keys_begin = keys.begin;
    context.keys_end = keys.end;
    context.keys =
        (const float *)tensors->k + offset_of(problem->k_strides, entry, packed, task.kv_head, entry->kv_first);
    context.values =
        (const float *)tensors->v + offset_of(problem->v_strides, entry, packed, task.kv_head, entry->kv_first);
    fetch_first_keys(&context, keys.begin);
  }
  for (int64_t base = keys.begin / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS; base < keys.end; base += FOVEA_BLOCK_KEYS) {
    run_tiles(&context, tiles, (int)task.tiles, base);
  }
  for (int i = 0; i < task.tiles; i++) {
    if (tiles[i].view.any.end == 0) end_tile(&context, &tiles[i]); /* rows that see nothing */
  }
}
