#include "explain_tiles.h"

#include "../visible/visible_pairs.h"
#include "count.h"
#include "gather.h"

#if FOVEA_BUILDS_EXPLAIN

/* Words of a pattern, as a run keeps them in scratch. */
enum { WORD_BYTES = FOVEA_ROW_TILE_LIMIT * FOVEA_BLOCK_KEYS / 8 };

/* The tiles of an entry and a kv head, and what is counted of them. All heads of `times` kv heads see the same. */
typedef struct tile_count {
  const fovea_plan *plan;
  fovea_visibility by;
  int decoded;
  fovea_tile_rows rows; /* of the current tile */
  fovea_row_place places[FOVEA_ROW_TILE_LIMIT];
  fovea_visible_tile tile;
  fovea_interval held; /* the entry's keys */
  int64_t mask_begin;  /* of a mask tensor, which is not read; FOVEA_NO_BLOCK: there is none */
  int64_t times;
  fovea_explanation *to;
} tile_count;

/* *sum + more * times; INT64_MAX if that does not fit. */
static void add(int64_t *sum, int64_t more, int64_t times) {
  if (__builtin_mul_overflow(more, times, &more) || __builtin_add_overflow(*sum, more, sum)) *sum = INT64_MAX;
}

static void find_places(tile_count *count) {
  const int64_t group = count->by.group;
  for (int i = 0; i < count->rows.count; i++) {
    const int64_t row = count->rows.first + i;
    count->places[i] = (fovea_row_place){count->by.kv_head * group + row % group, row / group};
  }
}

/* The kind of a block of which `seen` pairs are visible. */
static int64_t *kind_of(const tile_count *count, const fovea_visible_block *block, int64_t seen) {
  const fovea_interval keys =
      fovea_intersect(count->held, (fovea_interval){block->base, block->base + FOVEA_BLOCK_KEYS});
  fovea_explanation *to = count->to;
  if (seen == 0) return &to->blocks_empty;
  if (count->mask_begin < fovea_least(block->rows->any.end, block->base + FOVEA_BLOCK_KEYS))
    return &to->blocks_masked;
  if (seen == count->rows.count * (keys.end - keys.begin)) return &to->blocks_full;
  for (int i = 0; i < block->sliced.count; i++) {
    if (block->sliced.slices[i].masked) return &to->blocks_bits;
  }
  return &to->blocks_limited;
}

static void count_block(const tile_count *count, int64_t base) {
  fovea_visible_block block;
  const int lanes = count->plan->kernels->lanes;
  int64_t seen = 0, computed = 0;
  if (fovea_find_visible_block(&count->by, &count->tile, base, count->tile.vectors * lanes, NULL, &block)) {
    seen = fovea_visible_pairs(&block, lanes);
    computed = fovea_pairs_computed(count->plan, &block, count->decoded);
  }
  add(kind_of(count, &block, seen), 1, count->times);
  if (count->by.entry->gathered) return;
  add(&count->to->pairs_visible, seen, count->times);
  add(&count->to->pairs_computed, computed, count->times);
}

/* Blocks begin to end - 128 that every row sees whole by the rules, without a pattern. */
static void count_full_blocks(const tile_count *count, int64_t begin, int64_t end) {
  const int64_t blocks = (end - begin) / FOVEA_BLOCK_KEYS, lanes = count->plan->kernels->lanes;
  const int64_t unmasked = (count->mask_begin / FOVEA_BLOCK_KEYS) - begin / FOVEA_BLOCK_KEYS;
  const int64_t full = fovea_least(blocks, fovea_most(unmasked, 0));
  const int64_t rows =
      count->decoded ? fovea_rows_multiplied(count->plan, count->rows.count) : count->tile.vectors * lanes;
  add(&count->to->blocks_full, full, count->times);
  add(&count->to->blocks_masked, blocks - full, count->times);
  add(&count->to->pairs_visible, (end - begin) * count->rows.count, count->times);
  add(&count->to->pairs_computed, (end - begin) * rows, count->times);
}

static void count_blocks(const tile_count *count) {
  const fovea_visible_tile *tile = &count->tile;
  const int64_t whole = fovea_divide_up(tile->all.begin, FOVEA_BLOCK_KEYS) * FOVEA_BLOCK_KEYS;
  const int64_t whole_end = tile->all.end / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS;
  int64_t from = 0, met = 0;
  const int64_t blocks = fovea_divide_up(count->held.end, FOVEA_BLOCK_KEYS) - count->held.begin / FOVEA_BLOCK_KEYS;
  for (int64_t base; (base = fovea_next_block(tile, from)) != FOVEA_NO_BLOCK;) {
    const int many = !tile->bands.pattern && base >= whole && base < whole_end;
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

/* Tile `number` of the entry and the kv head. */
static void count_tile(tile_count *count, int64_t number) {
  const fovea_entry *entry = count->by.entry;
  count->rows = fovea_plan_tile_rows(count->plan, entry, number);
  find_places(count);
  fovea_find_visible_tile(&count->by, count->rows, count->places, &count->tile);
  if (count->held.begin < count->held.end) count_blocks(count);
  if (!entry->gathered || fovea_next_block(&count->tile, 0) == FOVEA_NO_BLOCK) return;
  fovea_counts counts = {0, 0};
  if (FOVEA_BUILDS_LISTS) fovea_count_gathered(&count->by, &count->tile, &counts);
  add(&count->to->pairs_visible, counts.pairs_visible, count->times);
  add(&count->to->pairs_computed, counts.pairs_computed, count->times);
}

static void count_entry(const fovea_plan *plan, const fovea_entry *entry, char *words, int64_t mask_begin,
                        fovea_explanation *to) {
  const fovea_problem *p = &plan->problem;
  const int alike = !entry->pattern || entry->pattern->heads == 1;
  const int64_t tiles = fovea_plan_tiles(plan, entry), kv_heads = alike ? 1 : p->kv_heads;
  tile_count count = {.plan = plan,
                      .by = fovea_visibility_of(plan, entry, 0),
                      .decoded = !entry->gathered && fovea_is_decoded(plan, entry, FOVEA_KEYS_LIE_IN_ROWS),
                      .held = {entry->kv_begin, entry->kv_len},
                      .mask_begin = mask_begin,
                      .times = p->kv_heads / kv_heads,
                      .to = to};
  count.by.copies = words;
  int64_t *rows = entry->gathered ? &to->rows_gathered : count.decoded ? &to->rows_decoded : &to->rows_tiled;
  add(rows, entry->q_len, p->heads);
  add(&to->tiles, tiles, p->kv_heads);
  if (count.held.begin < count.held.end) {
    int64_t pairs = 0;
    add(&pairs, entry->q_len, count.held.end - count.held.begin);
    add(&to->pairs, pairs, p->heads);
  }
  for (; count.by.kv_head < kv_heads; count.by.kv_head++) {
    for (int64_t number = 0; number < tiles; number++) count_tile(&count, number);
  }
}

void fovea_explain_blocks(const fovea_plan *plan, fovea_explanation *to) {
  _Alignas(64) char words[WORD_BYTES];
  const int masked = plan->problem.mask.type != FOVEA_MASK_NONE;
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    count_entry(plan, entry, words, masked ? entry->mask_begin : FOVEA_NO_BLOCK, to);
  }
}
#endif
