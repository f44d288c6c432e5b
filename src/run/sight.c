#include "sight.h"

#include "../base/bits.h"
#include "holes.h"

/* The rows of a tile that follow one another in one head and one band of the pattern. */
typedef struct row_run {
  int64_t head, band;
  int64_t rows[FOVEA_ROW_TILE_LIMIT]; /* as the pattern counts them; no two neighbours are equal */
  int lanes[FOVEA_ROW_TILE_LIMIT];    /* the first lane of each */
  int count;
} row_run;

/* Whether a lane has the row, and the head of the pattern, of the lane before it. */
static int repeats(const fovea_task_context *context, const fovea_tile *t, int lane) {
  const int64_t heads = t->view.bands.pattern ? t->view.bands.pattern->heads : 1;
  if (!lane || (heads > 1 && heads == context->plan->problem.heads)) return 0;
  return t->places[lane].row == t->places[lane - 1].row;
}

/* Sets both words of each row of the run. */
static void read_words(const fovea_pattern *pattern, const row_run *run, int64_t base, fovea_row_words *words) {
  uint64_t half[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < 2; i++) {
    fovea_pattern_words(pattern, run->head, run->rows, run->count, base + i * FOVEA_WORD_KEYS, half);
    for (int j = 0; j < run->count; j++) words[run->lanes[j]].of[i] = half[j];
  }
}

/* Sets the words of the tile's rows, where they are not those of the lane before. The heads of a pattern take turns
 * in the lanes, so each goes through the rows. */
static void read_pattern(const fovea_task_context *context, const fovea_tile *t, int64_t base,
                         fovea_row_words *words) {
  const fovea_pattern_bands *bands = &t->view.bands;
  const fovea_entry *entry = context->task->entry;
  for (int64_t head = bands->first_head; head < bands->first_head + bands->heads; head++) {
    row_run run = {.head = head};
    for (int i = 0; i < t->rows.count && t->places[i].row < entry->q_seen; i++) {
      if (repeats(context, t, i) || fovea_pattern_head(context->plan, bands->pattern, t->places[i].head) != head)
        continue;
      const int64_t row = fovea_pattern_row(bands->pattern, t->places[i].row, entry->offset);
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
static fovea_row_words words_without_pattern(const fovea_tile *t) {
  const uint64_t word = t->view.bands.pattern ? 0 : ~UINT64_C(0);
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

/* Takes away what the rules do not let the rows see, and keys that do not exist (held: NULL if all do). Returns 1
 * if some row then sees keys with holes between them; the view's rows are from the first to the last. Lanes of
 * padding see what the last row sees. */
static int narrow_rows(const fovea_task_context *context, const fovea_tile *t, int64_t base,
                       const fovea_row_words *held, fovea_row_words *words, fovea_tile_view *view) {
  int holes = 0, lanes = t->view.vectors * context->kernels->lanes;
  for (int i = 0; i < lanes; i++) {
    if (i >= t->rows.count) {
      words[i] = words[i - 1];
      view->rows[i] = view->rows[i - 1];
      continue;
    }
    if (repeats(context, t, i)) { /* the rules, too, are the same */
      words[i] = words[i - 1];
      view->rows[i] = view->rows[i - 1];
      continue;
    }
    const fovea_interval seen = {t->view.rows[i].begin - base, t->view.rows[i].end - base};
    words[i].of[0] &= fovea_bits_between(seen.begin, seen.end);
    words[i].of[1] &= fovea_bits_between(seen.begin - FOVEA_WORD_KEYS, seen.end - FOVEA_WORD_KEYS);
    if (held) keep(&words[i], held);
    const fovea_interval keys = hull_of(&words[i], &holes);
    view->rows[i] = keys.begin < keys.end ? (fovea_interval){base + keys.begin, base + keys.end} : keys;
  }
  return holes;
}

/* All rows see one interval of the block by the pattern, of keys that exist. Returns 0 if they do not. */
static int narrow_alike(const fovea_task_context *context, const fovea_tile *t, const fovea_row_words *held,
                        fovea_sight *sight) {
  const int64_t base = context->walk.block;
  fovea_row_words words = words_without_pattern(t);
  int holes = 0;
  if (t->view.bands.pattern && !fovea_pattern_is_uniform(&t->view.bands, base, words.of)) return 0;
  if (held) keep(&words, held);
  fovea_interval keys = hull_of(&words, &holes);
  if (holes) return 0;
  fovea_tile_view *view = &sight->narrowed;
  keys = (fovea_interval){base + keys.begin, base + keys.end};
  if (t->view.all.begin > keys.begin || t->view.all.end < keys.end) return 0; /* some row sees less by the rules */
  view->vectors = t->view.vectors;
  fovea_view_alike(view, keys, context->kernels->lanes);
  sight->rows = view;
  return 1;
}

/* Sets what the pattern, and holes of the sequence, leave of the block. Returns 1 if words have to say it, key by
 * key. */
static int narrow(const fovea_task_context *context, const fovea_tile *t, const fovea_row_words *held,
                  fovea_row_words *words, fovea_sight *sight) {
  const int64_t base = context->walk.block;
  fovea_tile_view *view = &sight->narrowed;
  if (narrow_alike(context, t, held, sight)) return 0;
  for (int i = 0; i < t->rows.count; i++) words[i] = words_without_pattern(t);
  if (t->view.bands.pattern) read_pattern(context, t, base, words);
  view->vectors = t->view.vectors;
  const int holes = narrow_rows(context, t, base, held, words, view);
  fovea_join_rows(view, context->kernels->lanes);
  /* Parts of keys, too, are limits. */
  view->any = fovea_intersect(view->any, t->view.any);
  /* Words hide all that is hidden, so nothing is left for limits. */
  if (holes) fovea_view_alike(view, view->any, context->kernels->lanes);
  sight->rows = view;
  return holes;
}

int fovea_look(const fovea_task_context *context, const fovea_tile *t, fovea_sight *sight) {
  fovea_row_words words[FOVEA_ROW_TILE_LIMIT], held;
  const int64_t base = context->walk.block;
  const int whole = !context->plan->problem.holes || fovea_holds_block(context, t->view.any, base, &held);
  int holes = 0;
  sight->rows = &t->view;
  if (t->view.bands.pattern || !whole) {
    holes = narrow(context, t, whole ? NULL : &held, words, sight);
    if (sight->narrowed.any.begin >= sight->narrowed.any.end) return 0;
  }
  fovea_read_mask(context, t, sight->rows, holes ? words : NULL, base, &sight->mask);
  /* Decoding has no use for lanes of padding. */
  const int rows = t->decoded ? t->rows.count : t->view.vectors * context->kernels->lanes;
  fovea_view_block(sight->rows, base, rows, sight->mask.present ? sight->mask.pieces : NULL, &sight->view);
  return sight->view.count > 0;
}
