#include "explain_tiles.h"

#include "../plan/visibility.h"
#include "count.h"
#include "gather.h"

/* Words of a pattern, as a run keeps them in scratch. */
enum { WORD_BYTES = FOVEA_ROW_TILE_LIMIT * FOVEA_BLOCK_KEYS / 8 };

/* One tile, and what is counted of it. All heads of `times` kv heads see the same. */
typedef struct tile_count {
  fovea_task_context *context;
  fovea_tile *tile;
  fovea_interval held; /* the entry's keys */
  int64_t mask_begin;  /* of a mask tensor; FOVEA_NO_BLOCK: there is none */
  int64_t times;
  fovea_explanation *to;
} tile_count;

/* *sum + more * times; INT64_MAX if that does not fit. */
static void add(int64_t *sum, int64_t more, int64_t times) {
  if (__builtin_mul_overflow(more, times, &more) || __builtin_add_overflow(*sum, more, sum)) *sum = INT64_MAX;
}

static void find_places(const fovea_task_context *context, fovea_tile *t) {
  const int64_t group = context->plan->group;
  for (int i = 0; i < t->rows.count; i++) {
    const int64_t row = t->rows.first + i;
    t->places[i] = (fovea_row_place){context->task->kv_head * group + row % group, row / group};
  }
}

/* The kind of a block of which so many pairs are seen. */
static int64_t *kind_of(const tile_count *count, const fovea_sight *sight, int64_t seen) {
  const int64_t base = count->context->walk.block;
  const fovea_interval keys = fovea_intersect(count->held, (fovea_interval){base, base + FOVEA_BLOCK_KEYS});
  fovea_explanation *to = count->to;
  if (seen == 0) return &to->blocks_empty;
  if (count->mask_begin < fovea_least(sight->rows->any.end, base + FOVEA_BLOCK_KEYS)) return &to->blocks_masked;
  if (seen == count->tile->rows.count * (keys.end - keys.begin)) return &to->blocks_full;
  for (int i = 0; i < sight->view.count; i++) {
    if (sight->view.slices[i].masked) return &to->blocks_bits;
  }
  return &to->blocks_limited;
}

static void count_block(const tile_count *count, int64_t base) {
  fovea_sight sight;
  int64_t seen = 0, computed = 0;
  count->context->walk.block = base;
  if (fovea_look(count->context, count->tile, &sight)) {
    seen = fovea_pairs_seen(count->context, count->tile, &sight);
    computed = fovea_pairs_computed(count->context, count->tile, &sight);
  }
  add(kind_of(count, &sight, seen), 1, count->times);
  if (count->context->task->entry->gathered) return;
  add(&count->to->pairs_seen, seen, count->times);
  add(&count->to->pairs_computed, computed, count->times);
}

/* Blocks begin to end - 128 that every row sees whole by the rules, without a pattern. */
static void count_full_blocks(const tile_count *count, int64_t begin, int64_t end) {
  const fovea_tile *t = count->tile;
  const int64_t blocks = (end - begin) / FOVEA_BLOCK_KEYS, lanes = count->context->kernels->lanes;
  const int64_t unmasked = (count->mask_begin / FOVEA_BLOCK_KEYS) - begin / FOVEA_BLOCK_KEYS;
  const int64_t full = fovea_least(blocks, fovea_most(unmasked, 0));
  const int64_t rows = t->decoded ? t->rows.count : t->view.vectors * lanes;
  add(&count->to->blocks_full, full, count->times);
  add(&count->to->blocks_masked, blocks - full, count->times);
  add(&count->to->pairs_seen, (end - begin) * t->rows.count, count->times);
  add(&count->to->pairs_computed, (end - begin) * rows, count->times);
}

static void count_blocks(const tile_count *count) {
  const fovea_tile_view *view = &count->tile->view;
  const int64_t whole = fovea_divide_up(view->all.begin, FOVEA_BLOCK_KEYS) * FOVEA_BLOCK_KEYS;
  const int64_t whole_end = view->all.end / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS;
  int64_t from = 0, met = 0;
  const int64_t blocks = fovea_divide_up(count->held.end, FOVEA_BLOCK_KEYS) - count->held.begin / FOVEA_BLOCK_KEYS;
  for (int64_t base; (base = fovea_next_block(view, from)) != FOVEA_NO_BLOCK;) {
    const int many = !view->bands.pattern && base >= whole && base < whole_end;
    from = many ? whole_end : base + FOVEA_BLOCK_KEYS;
    met += (from - base) / FOVEA_BLOCK_KEYS;
    if (many) {
      count_full_blocks(count, base, from);
    } else {
      count_block(count, base);
    }
  }
  add(&count->to->blocks, blocks, count->times);
  add(&count->to->blocks_empty, blocks - met, count->times);
}

/* Tile `number` of the task's entry and kv head. */
static void count_tile(tile_count *count, int64_t number) {
  fovea_task_context *context = count->context;
  const fovea_entry *entry = context->task->entry;
  fovea_tile *t = count->tile;
  t->rows = fovea_plan_tile_rows(context->plan, entry, number);
  fovea_view_tile(context->plan, entry, context->task->kv_head, t->rows, &t->view);
  find_places(context, t);
  if (count->held.begin < count->held.end) count_blocks(count);
  if (!entry->gathered || fovea_next_block(&t->view, 0) == FOVEA_NO_BLOCK) return;
  fovea_counts counts = {0, 0};
  fovea_count_gathered(context, t, &counts);
  add(&count->to->pairs_seen, counts.pairs_seen, count->times);
  add(&count->to->pairs_computed, counts.pairs_computed, count->times);
}

static void count_entry(const fovea_plan *plan, const fovea_entry *entry, char *words, int64_t mask_begin,
                        fovea_explanation *to) {
  const fovea_problem *p = &plan->problem;
  const int alike = !entry->pattern || entry->pattern->heads == 1;
  const int64_t tiles = fovea_plan_tiles(plan, entry), kv_heads = alike ? 1 : p->kv_heads;
  fovea_task task = {.entry = entry, .part = -1};
  fovea_task_context context = {.plan = plan, .kernels = plan->kernels, .task = &task, .memory = {.mask = words}};
  fovea_tile tile = {.decoded = !entry->gathered && fovea_is_decoded(plan, entry, FOVEA_KEYS_LIE_IN_ROWS)};
  tile_count count = {.context = &context,
                      .tile = &tile,
                      .held = {entry->kv_begin, entry->kv_len},
                      .mask_begin = mask_begin,
                      .times = p->kv_heads / kv_heads,
                      .to = to};
  int64_t *rows = entry->gathered ? &to->rows_gathered : tile.decoded ? &to->rows_decoded : &to->rows_tiled;
  add(rows, entry->q_len, p->heads);
  add(&to->tiles, tiles, p->kv_heads);
  if (count.held.begin < count.held.end) {
    int64_t pairs = 0;
    add(&pairs, entry->q_len, count.held.end - count.held.begin);
    add(&to->pairs, pairs, p->heads);
  }
  for (task.kv_head = 0; task.kv_head < kv_heads; task.kv_head++) {
    for (int64_t number = 0; number < tiles; number++) count_tile(&count, number);
  }
}

void fovea_explain_blocks(const fovea_plan *plan, fovea_explanation *to) {
  _Alignas(64) char words[WORD_BYTES];
  const int masked = plan->problem.mask_type != FOVEA_MASK_NONE;
  fovea_plan bare = *plan; /* the mask tensor is not read: there is none */
  bare.problem.mask_type = FOVEA_MASK_NONE;
  bare.problem.holes = 0; /* nor are there segments */
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    count_entry(&bare, entry, words, masked ? entry->mask_begin : FOVEA_NO_BLOCK, to);
  }
}
