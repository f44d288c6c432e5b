#include "compile.h"

#include "../../arch/float_state.h"
#include "../base/memory.h"

#include <string.h>

#if FOVEA_BUILDS_LISTS

/* Moves the first `count` elements to memory for `capacity` elements. */
static int make_room(fovea_pattern *pattern, int64_t capacity, int64_t count) {
  fovea_band_keys *keys = NULL;
  const uint64_t bytes = (uint64_t)capacity * sizeof *keys;
  if (bytes <= PTRDIFF_MAX) keys = fovea_allocate(&pattern->allocator, (size_t)bytes);
  if (!keys) return 0;
  if (pattern->band_keys) {
    memcpy(keys, pattern->band_keys, (size_t)count * sizeof *keys);
    fovea_release(&pattern->allocator, pattern->band_keys);
  }
  pattern->band_keys = keys;
  pattern->band_capacity = capacity;
  return 1;
}

/* Adds a stretch to a band that began at element `first`. Returns 0 if there is no memory. */
static int add(fovea_pattern *pattern, int64_t first, int64_t *count, int64_t begin, fovea_stretch stretch) {
  const unsigned all = stretch.seen == FOVEA_SEEN_BY_ALL;
  fovea_band_keys *last = *count > first ? &pattern->band_keys[*count - 1] : NULL;
  if (last && last->end == begin && last->all == all) {
    last->end = (uint32_t)stretch.end & INT32_MAX;
    return 1;
  }
  if (*count == pattern->band_capacity && !make_room(pattern, 2 * *count, *count)) return 0;
  pattern->band_keys[(*count)++] = (fovea_band_keys){(uint32_t)begin, (uint32_t)stretch.end & INT32_MAX, all & 1};
  return 1;
}

/* About how many pairs of its rows and keys a band has. */
static double pairs_of(const fovea_band_keys *keys, int64_t count, int64_t rows) {
  double pairs = 0;
  for (int64_t i = 0; i < count; i++) {
    pairs += (double)(keys[i].end - keys[i].begin) * (double)rows * (keys[i].all ? 1 : 0.5);
  }
  return pairs;
}

static int compile_band(fovea_pattern *pattern, int64_t head, fovea_interval rows, int64_t *count) {
  const int64_t first = *count;
  for (int64_t key = 0; key < pattern->keys;) {
    fovea_stretch stretch = fovea_node_stretch(pattern->roots[head], rows, key);
    stretch.end = fovea_least(stretch.end, pattern->keys);
    if (stretch.seen != FOVEA_SEEN_BY_NONE && !add(pattern, first, count, key, stretch)) return 0;
    key = stretch.end;
  }
  for (int64_t i = first; i < *count; i++) {
    const fovea_band_keys *keys = &pattern->band_keys[i];
    pattern->met_pairs += (double)(keys->end - keys->begin) * (double)(rows.end - rows.begin);
  }
  pattern->pairs += pairs_of(pattern->band_keys + first, *count - first, rows.end - rows.begin);
  return 1;
}

static int compile_bands(fovea_pattern *pattern) {
  int64_t *starts = pattern->band_starts, count = 0;
  if (!make_room(pattern, 4 * pattern->bands + 4, 0)) return 0;
  *starts++ = 0;
  for (int64_t head = 0; head < pattern->heads; head++) {
    for (int64_t band = 0; band < pattern->bands; band++) {
      const int64_t begin = pattern->first_row + band * FOVEA_BAND_ROWS;
      const int64_t end = fovea_least(begin + FOVEA_BAND_ROWS, pattern->first_row + pattern->rows);
      if (!compile_band(pattern, head, (fovea_interval){begin, end}, &count)) return 0;
      *starts++ = count;
    }
  }
  /* What was room for more is given back; without memory for the move, it stays. */
  if (count + 1 < pattern->band_capacity) make_room(pattern, count + 1, count);
  pattern->bytes += (size_t)pattern->band_capacity * sizeof *pattern->band_keys;
  return 1;
}

int fovea_compile_pattern(fovea_pattern *pattern) {
  const fovea_float_state caller = fovea_float_begin(); /* pairs are counted in double */
  const int compiled = compile_bands(pattern);
  pattern->list_pairs = fovea_pattern_count_lists(pattern);
  fovea_float_end(caller);
  return compiled;
}
#endif
