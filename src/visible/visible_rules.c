#include "visible_rules.h"

static int64_t floor_divide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

/* Move one end inwards. A distance that is unlimited, or beyond every length, moves nothing. */
static void begin_at(fovea_interval *keys, int64_t from, int64_t distance) {
  if (distance == FOVEA_UNLIMITED || distance > from) return;
  if (from - distance > keys->begin) keys->begin = from - distance;
}

static void end_after(fovea_interval *keys, int64_t last, int64_t distance) {
  if (distance == FOVEA_UNLIMITED || (last >= 0 && distance >= keys->end - last)) return;
  if (last + distance + 1 < keys->end) keys->end = last + distance + 1;
}

fovea_interval fovea_visible_keys(const fovea_problem *problem, const fovea_entry *entry, int64_t row) {
  fovea_interval keys = {entry->kv_begin, entry->kv_len};
  int64_t own = row + entry->offset;
  if (row >= entry->q_seen) return (fovea_interval){0, 0};
  if (problem->causal) end_after(&keys, own, 0);
  begin_at(&keys, own, problem->window_left);
  end_after(&keys, own, problem->window_right);
  if (problem->chunks.size > 0) {
    int64_t size = problem->chunks.size < (INT64_C(1) << 50) ? problem->chunks.size : INT64_C(1) << 50;
    int64_t chunk = floor_divide(own, size) * size;
    begin_at(&keys, chunk, problem->chunks.left);
    end_after(&keys, chunk + size - 1, problem->chunks.right);
  }
  if (keys.end <= keys.begin) keys.begin = keys.end = 0;
  return keys;
}

static int sees_some(const fovea_problem *problem, const fovea_entry *entry, int64_t row) {
  fovea_interval keys = fovea_visible_keys(problem, entry, row);
  return keys.begin < keys.end;
}

/* Row `some` sees a key, row `none` sees none, and there is one boundary between them. Returns the row next to the
 * boundary that sees a key. */
static int64_t last_that_sees(const fovea_problem *problem, const fovea_entry *entry, int64_t some, int64_t none) {
  while (some - none > 1 || none - some > 1) {
    int64_t middle = some + (none - some) / 2;
    *(sees_some(problem, entry, middle) ? &some : &none) = middle;
  }
  return some;
}

/* Every rule lets a row see its own key, if the entry has that key. So rows that see nothing come first, with own
 * keys before the entry's keys, or last, with own keys after them. */
fovea_interval fovea_entry_keys(const fovea_problem *problem, const fovea_entry *entry) {
  int64_t first = 0, last = entry->q_seen - 1;
  if (last < 0 || entry->kv_begin >= entry->kv_len) return (fovea_interval){0, 0};
  if (!sees_some(problem, entry, first)) {
    int64_t some = entry->kv_len - 1 - entry->offset < last ? entry->kv_len - 1 - entry->offset : last;
    if (some < 0 || !sees_some(problem, entry, some)) return (fovea_interval){0, 0};
    first = last_that_sees(problem, entry, some, first);
  }
  if (!sees_some(problem, entry, last)) {
    int64_t some = entry->kv_begin - entry->offset > first ? entry->kv_begin - entry->offset : first;
    last = last_that_sees(problem, entry, some, last);
  }
  return (fovea_interval){fovea_visible_keys(problem, entry, first).begin,
                          fovea_visible_keys(problem, entry, last).end};
}

/* Clips a distance: none that matters is longer than 2^50, and sums of a few such distances do not overflow. */
static int64_t distance_of(int64_t distance) {
  const int64_t most = INT64_C(1) << 50;
  return distance == FOVEA_UNLIMITED || distance > most ? most : distance;
}

int64_t fovea_keys_of_rows(const fovea_problem *problem, int64_t rows) {
  int64_t before = distance_of(problem->window_left), after = distance_of(problem->window_right);
  if (problem->chunks.size > 0) {
    /* A row's own key may be the first of its chunk, or the last. */
    int64_t size = distance_of(problem->chunks.size);
    int64_t left = size - 1 + distance_of(problem->chunks.left),
            right = size - 1 + distance_of(problem->chunks.right);
    if (left < before) before = left;
    if (right < after) after = right;
  }
  if (problem->causal) after = 0;
  return before + after + rows;
}
