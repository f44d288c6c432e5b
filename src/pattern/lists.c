/* Rules with lists: documents, global tokens, blocks, edges. */
#include "node.h"

#if FOVEA_BUILDS_LISTS

/* The index of the first of `count` sorted items that is not below `least`. */
static int64_t find(const int32_t *items, int64_t count, int64_t least) {
  int64_t low = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (items[low + half] < least) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

/* ---- Documents */

static int64_t document_of(const int64_t *documents, int64_t count, int64_t position) {
  return position < count ? documents[position] : -1;
}

/* Which of the rows belong to the document. */
static fovea_seen rows_in(const fovea_documents *documents, fovea_interval rows, int64_t document) {
  int64_t inside = 0;
  if (document < 0) return FOVEA_SEEN_BY_NONE;
  for (int64_t row = rows.begin; row < fovea_least(rows.end, documents->count); row++) {
    inside += documents->rows[row] == document;
  }
  return inside == 0                       ? FOVEA_SEEN_BY_NONE
         : inside == rows.end - rows.begin ? FOVEA_SEEN_BY_ALL
                                           : FOVEA_SEEN_BY_SOME;
}

/* The keys of run `run` of positions. */
static fovea_interval run_keys(const fovea_documents *documents, int64_t run) {
  return (fovea_interval){documents->runs[run],
                          run + 1 < documents->run_count ? documents->runs[run + 1] : documents->count};
}

static int64_t run_of(const fovea_documents *documents, int64_t position) {
  return find(documents->runs, documents->run_count, position + 1) - 1;
}

/* If documents are runs, only the documents that the rows lie in matter: the others are passed over at once. */
static fovea_stretch stretch_of_runs(const fovea_documents *documents, fovea_interval rows, int64_t key) {
  const fovea_interval inside = fovea_intersect(rows, (fovea_interval){0, documents->count});
  if (inside.begin >= inside.end) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  const int64_t first = run_keys(documents, run_of(documents, inside.begin)).begin;
  if (key < first) return (fovea_stretch){FOVEA_SEEN_BY_NONE, first};
  const int64_t run = run_of(documents, key);
  const fovea_interval keys = run_keys(documents, run);
  if (keys.begin >= inside.end) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (documents->keys[keys.begin] < 0) return (fovea_stretch){FOVEA_SEEN_BY_NONE, keys.end};
  const int all = keys.begin <= rows.begin && rows.end <= keys.end;
  return (fovea_stretch){all ? FOVEA_SEEN_BY_ALL : FOVEA_SEEN_BY_SOME, keys.end};
}

/* Goes on while the same rows see neighbouring keys, so that documents that the rows do not know make one
 * stretch. */
fovea_stretch fovea_documents_stretch(const fovea_documents *documents, fovea_interval rows, int64_t key) {
  if (key >= documents->count) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (documents->runs) return stretch_of_runs(documents, rows, key);
  int64_t document = documents->keys[key];
  const fovea_seen seen = rows_in(documents, rows, document);
  for (key++; key < documents->count; key++) {
    if (documents->keys[key] == document) continue;
    document = documents->keys[key];
    if (rows_in(documents, rows, document) != seen) break;
  }
  return (fovea_stretch){seen, key};
}

void fovea_documents_words(const fovea_documents *documents, const int64_t *rows, int count, int64_t key,
                           uint64_t *words) {
  const int keys = (int)fovea_most(fovea_least(documents->count - key, FOVEA_WORD_KEYS), 0);
  for (int i = 0; i < count; i++) {
    const int64_t document = document_of(documents->rows, documents->count, rows[i]);
    if (i > 0 && document == document_of(documents->rows, documents->count, rows[i - 1])) {
      words[i] = words[i - 1];
      continue;
    }
    words[i] = 0;
    for (int j = 0; document >= 0 && j < keys; j++) {
      words[i] |= (uint64_t)(documents->keys[key + j] == document) << j;
    }
  }
}

fovea_interval fovea_documents_keys(const fovea_documents *documents, int64_t row) {
  if (!documents->runs || document_of(documents->rows, documents->count, row) < 0) return (fovea_interval){0, 0};
  return run_keys(documents, run_of(documents, row));
}

/* ---- Global tokens: one list */

static int64_t global_rows(const fovea_lists *lists, fovea_interval rows) {
  const int64_t first = find(lists->items, lists->starts[1], rows.begin);
  return find(lists->items + first, lists->starts[1] - first, rows.end);
}

fovea_stretch fovea_global_stretch(const fovea_lists *lists, fovea_interval rows, int64_t key) {
  const int64_t count = lists->starts[1], inside = global_rows(lists, rows);
  if (inside == rows.end - rows.begin) return (fovea_stretch){FOVEA_SEEN_BY_ALL, FOVEA_NO_KEY};
  int64_t at = find(lists->items, count, key), end = key;
  for (; at < count && lists->items[at] == end; at++) end++;
  if (end > key) return (fovea_stretch){FOVEA_SEEN_BY_ALL, end};
  return (fovea_stretch){inside ? FOVEA_SEEN_BY_SOME : FOVEA_SEEN_BY_NONE,
                         at < count ? lists->items[at] : FOVEA_NO_KEY};
}

/* The bits of the keys that a list's items stand for. */
static uint64_t word_of_items(const fovea_lists *lists, int64_t begin, int64_t end, int64_t key) {
  const int64_t unit = lists->key_unit;
  uint64_t word = 0;
  int64_t at = begin + find(lists->items + begin, end - begin, key / unit);
  for (; at < end && lists->items[at] * unit < key + FOVEA_WORD_KEYS; at++) {
    const int64_t first = lists->items[at] * unit - key;
    word |= fovea_bits_between(first, first + unit);
  }
  return word;
}

void fovea_global_words(const fovea_lists *lists, const int64_t *rows, int count, int64_t key, uint64_t *words) {
  const uint64_t word = word_of_items(lists, 0, lists->starts[1], key);
  for (int i = 0; i < count; i++) {
    words[i] = global_rows(lists, (fovea_interval){rows[i], rows[i] + 1}) ? ~UINT64_C(0) : word;
  }
}

/* ---- Blocks and edges */

/* The list of a row, or -1. */
static int64_t list_of(const fovea_lists *lists, int64_t row) {
  const int64_t list = row < lists->first ? -1 : (row - lists->first) / lists->row_unit;
  return list < lists->count ? list : -1;
}

/* The stretch of sorted items that stand for `unit` keys each, from item `begin` to `end` - 1. */
static fovea_stretch stretch_of_items(const int32_t *items, int64_t begin, int64_t end, int64_t unit,
                                      fovea_seen seen, int64_t key) {
  int64_t at = begin + find(items + begin, end - begin, key / unit), next = key / unit;
  if (at == end) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (items[at] > next) return (fovea_stretch){FOVEA_SEEN_BY_NONE, items[at] * unit};
  for (; at < end && items[at] == next; at++) next++;
  return (fovea_stretch){seen, next * unit};
}

fovea_stretch fovea_lists_stretch(const fovea_lists *lists, fovea_interval rows, int64_t key) {
  const int64_t list = list_of(lists, rows.begin);
  if (list >= 0 && list == list_of(lists, rows.end - 1)) {
    return stretch_of_items(lists->items, lists->starts[list], lists->starts[list + 1], lists->key_unit,
                            FOVEA_SEEN_BY_ALL, key);
  }
  /* Bands that do not lie at multiples of a band's rows meet two of the lists' bands. */
  fovea_stretch both = {FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  const int64_t last_band = fovea_least((rows.end - 1) / FOVEA_BAND_ROWS - lists->first_band, lists->bands - 1);
  int64_t band = fovea_most(rows.begin / FOVEA_BAND_ROWS - lists->first_band, 0);
  for (; band <= last_band; band++) {
    const fovea_stretch some =
        stretch_of_items(lists->union_items, lists->union_starts[band], lists->union_starts[band + 1],
                         lists->union_unit, FOVEA_SEEN_BY_SOME, key);
    if (some.seen > both.seen) both.seen = some.seen;
    both.end = fovea_least(both.end, some.end);
  }
  return both;
}

void fovea_lists_words(const fovea_lists *lists, const int64_t *rows, int count, int64_t key, uint64_t *words) {
  int64_t before = -2;
  for (int i = 0; i < count; i++) {
    const int64_t list = list_of(lists, rows[i]);
    words[i] = list < 0         ? 0
               : list == before ? words[i - 1]
                                : word_of_items(lists, lists->starts[list], lists->starts[list + 1], key);
    before = list;
  }
}
#endif
