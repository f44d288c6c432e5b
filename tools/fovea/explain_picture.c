#include "explain_picture.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_KEYS = 64 };

/* A picture of more rows or keys would take hours. */
#define LENGTH_LIMIT (INT64_C(1) << 24)

/* How many bits of a word are set: sums of pairs, of fours, of bytes, then of all bytes. */
static int ones(uint64_t word) {
  const uint64_t pairs = 0x5555555555555555u, fours = 0x3333333333333333u, bytes = 0x0f0f0f0f0f0f0f0fu;
  word -= word >> 1 & pairs;
  word = (word & fours) + (word >> 2 & fours);
  word = (word + (word >> 4)) & bytes;
  return (int)(word * 0x0101010101010101u >> 56);
}

/* Whether the mask hides the element: False, or -Inf. */
static bool hides(const pattern_view *view, int64_t element) {
  const char *mask = view->mask;
  uint32_t wide;
  uint16_t half;
  switch (view->problem->mask.type) {
  case FOVEA_MASK_BOOL:
    return mask[element] == 0;
  case FOVEA_MASK_F16:
    memcpy(&half, mask + 2 * element, sizeof half);
    return half == 0xfc00u;
  default: /* files hold no other type */
    memcpy(&wide, mask + 4 * element, sizeof wide);
    return wide == 0xff800000u;
  }
}

/* Takes away what the mask hides. */
static void hide(const pattern_view *view, int64_t entry, int64_t head, int64_t row, int64_t words,
                 uint64_t *seen) {
  const fovea_problem *problem = view->problem;
  const fovea_mask_strides *strides = &problem->mask.strides;
  const int64_t first = entry * strides->batch + head * strides->head + row * strides->row;
  if (problem->mask.type == FOVEA_MASK_NONE) return;
  for (int64_t key = problem->mask.begin; key < words * WORD_KEYS; key++) {
    const uint64_t bit = UINT64_C(1) << key % WORD_KEYS;
    if (!(seen[key / WORD_KEYS] & bit)) continue;
    if (hides(view, first + (key - problem->mask.begin) * strides->key)) seen[key / WORD_KEYS] &= ~bit;
  }
}

/* Adds the bits of a row to the counts of a line of cells. */
static void add_row(const panel_set *panels, const uint64_t *seen, int64_t words, int64_t *counts) {
  const int64_t factor = panels->key_factor;
  for (int64_t i = 0; i < words; i++) {
    uint64_t word = seen[i];
    for (int64_t key = i * WORD_KEYS; word;) {
      const int64_t cell = key / factor, left = (cell + 1) * factor - key;
      const uint64_t here = left < WORD_KEYS ? word & ((UINT64_C(1) << left) - 1) : word;
      counts[cell] += ones(here);
      word = left < WORD_KEYS ? word >> left : 0;
      key += left;
    }
  }
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Makes shares of the pairs of a line of cells. */
static void divide(panel_set *panels, int64_t rows, const int64_t *counts, float *line) {
  for (int64_t cell = 0; cell < panels->cell_keys; cell++) {
    const int64_t keys = least(panels->key_factor, panels->keys - cell * panels->key_factor);
    line[cell] = (float)((double)counts[cell] / ((double)rows * (double)keys));
    if (line[cell] > panels->largest) panels->largest = line[cell];
  }
}

static bool fill_panel(panel_set *panels, const pattern_view *view, int panel, uint64_t *seen, failure *why) {
  const int64_t head = panels->heads[panel], words = (panels->keys + WORD_KEYS - 1) / WORD_KEYS;
  for (int64_t cell = 0; cell < panels->cell_rows; cell++) {
    float *line = panels->cells + (panel * panels->cell_rows + cell) * panels->cell_keys;
    const int64_t first = cell * panels->row_factor, end = least(first + panels->row_factor, panels->rows);
    int64_t counts[CELL_LIMIT] = {0};
    for (int64_t row = first; row < end; row++) {
      fovea_error error;
      if (fovea_plan_row_keys(view->plan, panels->batch, head, row, 0, words, seen, &error) != FOVEA_OK)
        return fail(why, "%s", error.text);
      hide(view, panels->batch, head, row, words, seen);
      add_row(panels, seen, words, counts);
    }
    divide(panels, end - first, counts, line);
  }
  return true;
}

bool explain_picture_fill(panel_set *panels, const pattern_view *view, const number_list *heads,
                          const number_list *entry, failure *why) {
  const fovea_problem *problem = view->problem;
  const panel_names names = {"--head", "--element", "the problem"};
  int64_t zero = 0;
  const number_list one = {&zero, 1};
  const long long rows = problem->q_len, keys = problem->kv_len;
  if (rows == 0 || keys == 0) return fail(why, "--out: there are no rows or no keys to draw");
  if (rows > LENGTH_LIMIT || keys > LENGTH_LIMIT)
    return fail(why, "--out: %lld rows and %lld keys are too many to draw; at most %lld are", rows, keys,
                (long long)LENGTH_LIMIT);
  panels->of_batch = problem->batch;
  panels->of_heads = problem->heads;
  panels->has_heads = problem->heads > 1;
  panels_set_size(panels, rows, keys);
  if (!panels_choose(panels, &names, heads->count > 0 ? heads : &one, entry, why) || !panels_allocate(panels, why))
    return false;
  uint64_t *seen = malloc((size_t)((keys + WORD_KEYS - 1) / WORD_KEYS) * sizeof *seen);
  if (!seen) return fail(why, "out of memory for a row of %lld keys", keys);
  bool filled = true;
  for (int panel = 0; filled && panel < panels->count; panel++) filled = fill_panel(panels, view, panel, seen, why);
  free(seen);
  return filled;
}
