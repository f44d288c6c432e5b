/* Neighbourhoods on a grid of cells. */
#include "node.h"

#if FOVEA_BUILDS_LISTS

/* The cells that a row at `place` sees along an axis: every dilation-th from first to last. */
typedef struct cells {
  int64_t first, last;
} cells;

static cells cells_of(const fovea_rule_axis *axis, int64_t place) {
  const int64_t rest = place % axis->dilation, at = place / axis->dilation;
  const int64_t length = (axis->length - rest + axis->dilation - 1) / axis->dilation; /* of cells with this rest */
  int64_t first = at - (axis->causal ? axis->window - 1 : axis->window / 2);
  if (first > length - axis->window) first = length - axis->window;
  if (first < 0) first = 0;
  const int64_t last = axis->causal ? at : first + axis->window - 1;
  return (cells){rest + first * axis->dilation, rest + last * axis->dilation};
}

/* The cells below one cell of axis `at`. */
static int64_t cells_below(const fovea_node *node, int64_t at) {
  int64_t below = 1;
  for (int64_t i = at + 1; i < node->axes; i++) below *= node->axis[i].length;
  return below;
}

/* Rows and key within the part of the grid that begins with axis `at`. The end may lie after this part. */
static fovea_stretch stretch_of(const fovea_node *node, int64_t at, fovea_interval rows, int64_t key) {
  const fovea_rule_axis *axis = &node->axis[at];
  const int64_t below = cells_below(node, at);
  const int64_t first_row = rows.begin / below, last_row = (rows.end - 1) / below, place = key / below;
  cells seen = cells_of(axis, first_row);
  for (int64_t row = first_row + 1; row <= last_row; row++) {
    const cells also = cells_of(axis, row);
    seen.first = fovea_least(seen.first, also.first);
    seen.last = fovea_most(seen.last, also.last);
  }
  if (place < seen.first) return (fovea_stretch){FOVEA_SEEN_BY_NONE, seen.first * below};
  if (place > seen.last) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (first_row != last_row) return (fovea_stretch){FOVEA_SEEN_BY_SOME, (seen.last + 1) * below};
  const int64_t gap = (place - seen.first) % axis->dilation;
  if (gap) return (fovea_stretch){FOVEA_SEEN_BY_NONE, (place + axis->dilation - gap) * below};
  if (below == 1) {
    return (fovea_stretch){FOVEA_SEEN_BY_ALL, axis->dilation == 1 ? seen.last + 1 : place + 1};
  }
  const int64_t row_begin = first_row * below, key_begin = place * below;
  fovea_stretch inner =
      stretch_of(node, at + 1, (fovea_interval){rows.begin - row_begin, rows.end - row_begin}, key - key_begin);
  inner.end = key_begin + fovea_least(inner.end, below);
  return inner;
}

fovea_stretch fovea_grid_stretch(const fovea_node *node, fovea_interval rows, int64_t key) {
  const int64_t all = node->axis[0].length * cells_below(node, 0);
  if (rows.begin >= all || key >= all) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (rows.end > all) {
    const fovea_stretch inside = stretch_of(node, 0, (fovea_interval){rows.begin, all}, key);
    return inside.seen == FOVEA_SEEN_BY_ALL ? (fovea_stretch){FOVEA_SEEN_BY_SOME, inside.end} : inside;
  }
  return stretch_of(node, 0, rows, key);
}

/* The word of a row, within the part of the grid that begins with axis `at` and lies `base` keys after the word's
 * first key (before it, if negative). */
static uint64_t word_of(const fovea_node *node, int64_t at, int64_t row, int64_t base) {
  const fovea_rule_axis *axis = &node->axis[at];
  const int64_t below = cells_below(node, at);
  const cells seen = cells_of(axis, row / below);
  if (below == 1 && axis->dilation == 1) return fovea_bits_between(base + seen.first, base + seen.last + 1);
  uint64_t word = 0;
  int64_t cell = seen.first;
  if (base + (cell + 1) * below <= 0) { /* the first cell that reaches into the word */
    const int64_t reach = -base / below;
    cell += (reach - cell + axis->dilation - 1) / axis->dilation * axis->dilation;
  }
  for (; cell <= seen.last && base + cell * below < FOVEA_WORD_KEYS; cell += axis->dilation) {
    const int64_t first = base + cell * below;
    word |= below == 1 ? fovea_bits_between(first, first + 1) : word_of(node, at + 1, row % below, first);
  }
  return word;
}

void fovea_grid_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words) {
  const int64_t all = node->axis[0].length * cells_below(node, 0);
  for (int i = 0; i < count; i++) words[i] = rows[i] < all ? word_of(node, 0, rows[i], -key) : 0;
}
#endif
