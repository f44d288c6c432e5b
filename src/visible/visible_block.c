#include "visible_block.h"

#include "../base/bits.h"

/* The rows of a tile that follow one another in one head and one band of the pattern. */
typedef struct row_run {
  int64_t head, band;
  int64_t rows[FOVEA_ROW_TILE_LIMIT]; /* as the pattern counts them; no two neighbours are equal */
  int lanes[FOVEA_ROW_TILE_LIMIT];    /* the first lane of each */
  int count;
} row_run;

/* Whether a lane has the row, and the head of the entry's pattern, of the lane before it. The tile has no pattern any
 * more if its rows have become intervals, but the intervals of its heads may still differ. */
static int repeats(const fovea_visibility *by, const fovea_visible_tile *tile, int lane) {
  const int64_t heads = by->entry->pattern ? by->entry->pattern->heads : 1;
  if (!lane || (heads > 1 && heads == by->problem->heads)) return 0;
  return tile->places[lane].row == tile->places[lane - 1].row;
}

/* Sets both words of each row of the run. */
static void read_words(const fovea_pattern *pattern, const row_run *run, int64_t base, fovea_row_words *words) {
  if (!FOVEA_BUILDS_LISTS) return;
  uint64_t half[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < 2; i++) {
    fovea_pattern_words(pattern, run->head, run->rows, run->count, base + i * FOVEA_WORD_KEYS, half);
    for (int j = 0; j < run->count; j++) words[run->lanes[j]].of[i] = half[j];
  }
}

/* Sets the words of the tile's rows, where they differ from the words of the lane before. The heads of a pattern
 * take turns in the lanes, so each goes through the rows. */
static void read_pattern(const fovea_visibility *by, const fovea_visible_tile *tile, int64_t base,
                         fovea_row_words *words) {
  const fovea_pattern_bands *bands = &tile->bands;
  const fovea_entry *entry = by->entry;
  for (int64_t head = bands->first_head; head < bands->first_head + bands->heads; head++) {
    row_run run = {.head = head};
    for (int i = 0; i < tile->count && tile->places[i].row < entry->q_seen; i++) {
      if (repeats(by, tile, i) || fovea_pattern_head(by, tile->places[i].head) != head) continue;
      const int64_t row = fovea_pattern_row(bands->pattern, tile->places[i].row, entry->offset);
      const int64_t band = fovea_pattern_band(bands->pattern, row);
      if (run.count > 0 && band != run.band) {
        read_words(bands->pattern, &run, base, words);
        run.count = 0;
      }
      run.band = band;
      run.rows[run.count] = row;
      run.lanes[run.count++] = i;
    }
    if (run.count > 0) read_words(bands->pattern, &run, base, words);
  }
}

/* Before a pattern is read: no key, or, without one, every key. */
static fovea_row_words words_without_pattern(const fovea_visible_tile *tile) {
  const uint64_t word = tile->bands.pattern ? 0 : ~UINT64_C(0);
  return (fovea_row_words){{word, word}};
}

static void keep(fovea_row_words *words, const fovea_row_words *kept) {
  words->of[0] &= kept->of[0];
  words->of[1] &= kept->of[1];
}

/* The keys of a block from the first bit to the last; holes: a bit between them is not set. */
static fovea_interval hull_of(const fovea_row_words *words, int *holes) {
  const uint64_t low = words->of[0], high = words->of[1];
  if (!(low | high)) return (fovea_interval){0, 0};
  const int first = low ? fovea_lowest_bit(low) : FOVEA_WORD_KEYS + fovea_lowest_bit(high);
  const int end = (high ? FOVEA_WORD_KEYS + fovea_highest_bit(high) : fovea_highest_bit(low)) + 1;
  *holes |= low != fovea_bits_between(first, end) ||
            high != fovea_bits_between(first - FOVEA_WORD_KEYS, end - FOVEA_WORD_KEYS);
  return (fovea_interval){first, end};
}

/* Takes away what the rules do not let the rows see, and keys that do not exist (held: NULL if all do). Returns 1 if
 * some row then sees keys with holes between them; the rows of `narrowed` then reach from the first key to the last.
 * Lanes of padding see what the last row sees. */
static int narrow_rows(const fovea_visibility *by, const fovea_visible_tile *tile, int64_t base,
                       const fovea_row_words *held, fovea_row_words *words, fovea_visible_tile *narrowed) {
  int holes = 0, lanes = tile->vectors * by->kernels->lanes;
  for (int i = 0; i < lanes; i++) {
    if (i >= tile->count) {
      words[i] = words[i - 1];
      narrowed->rows[i] = narrowed->rows[i - 1];
      continue;
    }
    if (repeats(by, tile, i)) { /* the rules, too, are the same */
      words[i] = words[i - 1];
      narrowed->rows[i] = narrowed->rows[i - 1];
      continue;
    }
    const fovea_interval seen = {tile->rows[i].begin - base, tile->rows[i].end - base};
    words[i].of[0] &= fovea_bits_between(seen.begin, seen.end);
    words[i].of[1] &= fovea_bits_between(seen.begin - FOVEA_WORD_KEYS, seen.end - FOVEA_WORD_KEYS);
    if (held) keep(&words[i], held);
    const fovea_interval keys = hull_of(&words[i], &holes);
    narrowed->rows[i] = keys.begin < keys.end ? (fovea_interval){base + keys.begin, base + keys.end} : keys;
  }
  return holes;
}

/* All rows see one interval of the block by the pattern, of keys that exist. Returns 0 if they do not. */
static int narrow_alike(const fovea_visibility *by, const fovea_visible_tile *tile, const fovea_row_words *held,
                        fovea_visible_block *block) {
  fovea_row_words words = words_without_pattern(tile);
  int holes = 0;
  if (FOVEA_BUILDS_LISTS && tile->bands.pattern && !fovea_pattern_is_uniform(&tile->bands, block->base, words.of))
    return 0;
  if (held) keep(&words, held);
  fovea_interval keys = hull_of(&words, &holes);
  if (holes) return 0;
  keys = (fovea_interval){block->base + keys.begin, block->base + keys.end};
  if (tile->all.begin > keys.begin || tile->all.end < keys.end) return 0; /* some row sees less by the rules */
  fovea_show_alike(&block->narrowed, keys, by->kernels->lanes);
  return 1;
}

/* Sets what the pattern, and holes of the sequence, leave of the block. Returns 1 if words have to say it, key by
 * key. */
static int narrow(const fovea_visibility *by, const fovea_visible_tile *tile, const fovea_row_words *held,
                  fovea_row_words *words, fovea_visible_block *block) {
  fovea_visible_tile *narrowed = &block->narrowed;
  narrowed->vectors = tile->vectors;
  narrowed->count = tile->count;
  narrowed->places = tile->places;
  block->rows = narrowed;
  if (narrow_alike(by, tile, held, block)) return 0;
  for (int i = 0; i < tile->count; i++) words[i] = words_without_pattern(tile);
  if (FOVEA_BUILDS_LISTS && tile->bands.pattern) read_pattern(by, tile, block->base, words);
  const int holes = narrow_rows(by, tile, block->base, held, words, narrowed);
  fovea_join_rows(narrowed, by->kernels->lanes);
  /* Parts of keys, too, are limits. */
  narrowed->any = fovea_intersect(narrowed->any, tile->any);
  /* Words hide all that is hidden, so nothing is left for limits. */
  if (holes) fovea_show_alike(narrowed, narrowed->any, by->kernels->lanes);
  return holes;
}

int fovea_find_visible_block(const fovea_visibility *by, const fovea_visible_tile *tile, int64_t base, int limited,
                             const fovea_row_words *held, fovea_visible_block *block) {
  fovea_row_words words[FOVEA_ROW_TILE_LIMIT];
  int holes = 0;
  block->base = base;
  block->rows = tile;
  if (tile->bands.pattern || held) {
    holes = narrow(by, tile, held, words, block);
    if (block->narrowed.any.begin >= block->narrowed.any.end) return 0;
  }
  fovea_read_mask(by, block->rows, holes ? words : NULL, base, &block->mask);
  fovea_slice_block(block->rows, base, limited, block->mask.present ? block->mask.pieces : NULL, &block->sliced);
  return block->sliced.count > 0;
}

int fovea_row_sees(const fovea_visible_block *block, int row, int key) {
  if (key < block->sliced.from[row] || key >= block->sliced.to[row]) return 0;
  return !block->mask.present || !fovea_mask_hides(&block->mask.tile, row, key);
}
