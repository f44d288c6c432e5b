/* A rule as a pattern keeps it: its own copy, with lists sorted. */
#ifndef FOVEA_SRC_PATTERN_NODE_H
#define FOVEA_SRC_PATTERN_NODE_H

#include "../../arch/groups.h"
#include "../../arch/strict_math.h"
#include "../base/interval.h"

#include <fovea/pattern.h>

/* Sorted lists of items without doubles. A list belongs to `row_unit` rows from `first` on, and item i stands for
 * the keys i * key_unit to (i + 1) * key_unit - 1. */
typedef struct fovea_lists {
  int64_t first, row_unit, key_unit;
  int64_t count;         /* lists */
  const int64_t *starts; /* count + 1 */
  const int32_t *items;
  /* For each band of rows from first_band on, counted from row 0, the blocks of `union_unit` keys that some list of
   * the band meets: sorted, too. */
  int64_t first_band, bands, union_unit;
  const int64_t *union_starts;
  const int32_t *union_items;
} fovea_lists;

/* Which document each position belongs to, as a key and as a row. */
typedef struct fovea_documents {
  int64_t count;
  const int64_t *keys, *rows;
  const int32_t *runs; /* the first position of each run of equal keys, and `count`; NULL: runs are not documents */
  int64_t run_count;
} fovea_documents;

typedef struct fovea_node {
  fovea_rule_kind kind;
  const struct fovea_node *left, *right;
  int64_t before, after, step, begin, end; /* as in fovea_rule */
  fovea_lists lists;                       /* BLOCKS, EDGES; GLOBAL: one list, of positions */
  fovea_documents documents;
  int64_t axes;
  fovea_rule_axis axis[FOVEA_RULE_AXES];
} fovea_node;

/* Whether the rows of a range see the keys of a stretch. */
typedef enum fovea_seen { FOVEA_SEEN_BY_NONE, FOVEA_SEEN_BY_SOME, FOVEA_SEEN_BY_ALL } fovea_seen;

/* What holds for all keys from the one asked for to end - 1. FOVEA_SEEN_BY_SOME says nothing: a word of bits does.
 */
typedef struct fovea_stretch {
  fovea_seen seen;
  int64_t end; /* after the key asked for */
} fovea_stretch;

/* After every key. */
#define FOVEA_NO_KEY (INT64_C(1) << 31)

/* The rows of one band: a pattern knows for each band which keys its rows may see. */
#define FOVEA_BAND_ROWS 64

/* The keys of a word of bits; bit i is the i-th of them. */
#define FOVEA_WORD_KEYS 64

/* The bits from begin to end - 1 of a word; both may lie outside it. */
static inline uint64_t fovea_bits_between(int64_t begin, int64_t end) {
  begin = fovea_most(begin, 0);
  end = fovea_least(end, FOVEA_WORD_KEYS);
  return begin < end ? ~UINT64_C(0) >> (FOVEA_WORD_KEYS - (end - begin)) << begin : 0;
}

/* Rules over ranges of positions (intervals.c), with lists (lists.c), over a grid (grid.c). `rows` are not empty.
 * Words are of the keys from `key` on, one for each of `count` rows. */
fovea_stretch fovea_interval_stretch(const fovea_node *node, fovea_interval rows, int64_t key);
void fovea_interval_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words);
fovea_stretch fovea_every_stretch(const fovea_node *node, int64_t key);
void fovea_every_words(const fovea_node *node, int count, int64_t key, uint64_t *words);
fovea_stretch fovea_documents_stretch(const fovea_documents *documents, fovea_interval rows, int64_t key);
void fovea_documents_words(const fovea_documents *documents, const int64_t *rows, int count, int64_t key,
                           uint64_t *words);
fovea_stretch fovea_global_stretch(const fovea_lists *lists, fovea_interval rows, int64_t key);
void fovea_global_words(const fovea_lists *lists, const int64_t *rows, int count, int64_t key, uint64_t *words);
fovea_stretch fovea_lists_stretch(const fovea_lists *lists, fovea_interval rows, int64_t key);
void fovea_lists_words(const fovea_lists *lists, const int64_t *rows, int count, int64_t key, uint64_t *words);
fovea_stretch fovea_grid_stretch(const fovea_node *node, fovea_interval rows, int64_t key);
void fovea_grid_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words);

/* The keys that a row sees by a rule of intervals, from the first to the last. */
fovea_interval fovea_interval_keys(const fovea_node *node, int64_t row);
/* The keys of a row's document, if documents are runs of neighbours. */
fovea_interval fovea_documents_keys(const fovea_documents *documents, int64_t row);

/* The most rows of fovea_node_intervals(). */
enum { FOVEA_INTERVAL_ROWS = 16 };

/* Any rule (rules.c). fovea_node_intervals() is for `count` rows from the first on; it returns 0 if the keys that
 * one of them sees are no interval, or are not known to be one. */
int fovea_node_intervals(const fovea_node *node, int64_t first, int count, fovea_interval *keys);
fovea_stretch fovea_node_stretch(const fovea_node *node, fovea_interval rows, int64_t key);
void fovea_node_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words);
int fovea_node_sees(const fovea_node *node, int64_t row, int64_t key);

#endif
