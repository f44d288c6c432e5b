/* A compiled pattern, and what plans and runs ask it. */
#ifndef FOVEA_SRC_PATTERN_PATTERN_H
#define FOVEA_SRC_PATTERN_PATTERN_H

#include "node.h"

/* Keys that some row of a band may see; `all`: that every row of it sees. Between them no row sees a key. */
typedef struct fovea_band_keys {
  uint32_t begin;
  uint32_t end : 31;
  uint32_t all : 1;
} fovea_band_keys;

struct fovea_pattern {
  fovea_allocator allocator;
  int64_t heads; /* 1: the same for all heads */
  int64_t first_row, rows, keys;
  int by_row;
  size_t bytes;
  int64_t bands;
  double pairs;               /* about how many pairs of a row and a key are visible, over all heads */
  double list_pairs;          /* of lists, if it is made of lists; else -1 */
  double met_pairs;           /* of rows and the keys that their bands meet */
  const fovea_node **roots;   /* one for each head */
  int64_t *band_starts;       /* in band_keys; of head h and band b: element h * bands + b, and the next */
  fovea_band_keys *band_keys; /* memory of its own */
  int64_t band_capacity;      /* elements of band_keys */
};

/* The words of a block of keys. */
#define FOVEA_BLOCK_WORDS 2

/* The bands that some rows of some heads lie in. */
typedef struct fovea_pattern_bands {
  const fovea_pattern *pattern; /* NULL: there is no pattern, and the rest is not set */
  int64_t first_head, heads;
  int64_t first_band, bands;
} fovea_pattern_bands;

/* The row as the pattern counts rows. */
static inline int64_t fovea_pattern_row(const fovea_pattern *pattern, int64_t row, int64_t offset) {
  return pattern->by_row ? row : row + offset;
}

/* The number of the band of a row, counted as the pattern counts rows. */
static inline int64_t fovea_pattern_band(const fovea_pattern *pattern, int64_t row) {
  return (row - pattern->first_row) / FOVEA_BAND_ROWS;
}

/* The first key from `from` on that some row of the bands may see; FOVEA_NO_KEY: there is none. */
int64_t fovea_pattern_next_key(const fovea_pattern_bands *bands, int64_t from);

/* Sets the keys that `count` rows of a head see, from the first on. Returns 0 if they are no intervals. */
int fovea_pattern_intervals(const fovea_pattern *pattern, int64_t head, int64_t first, int64_t count,
                            fovea_interval *keys);

/* Sets the words of a block of keys from `key` on, if all rows of the bands see the same of it. Returns 0 if they
 * may not. */
int fovea_pattern_is_uniform(const fovea_pattern_bands *bands, int64_t key, uint64_t words[FOVEA_BLOCK_WORDS]);

/* Sets the words of `count` rows of one head and one band, for the keys from `key` on, a multiple of a word's. */
void fovea_pattern_words(const fovea_pattern *pattern, int64_t head, const int64_t *rows, int count, int64_t key,
                         uint64_t *words);

/* The pairs of a pattern whose rules are lists of edges, alone or joined to one other rule by "and"; -1 of any
 * other.
 */
double fovea_pattern_count_lists(const fovea_pattern *pattern);

/* The keys of a row's list, in ascending order. */
typedef struct fovea_key_list {
  const int32_t *keys;
  int64_t count;
  int64_t row;
  const fovea_node *also; /* the row sees a key if this rule, too, lets it; NULL: there is none */
} fovea_key_list;

/* The list of a row, of a pattern that is made of lists; `keys` says which of them are wanted. */
fovea_key_list fovea_pattern_list(const fovea_pattern *pattern, int64_t head, int64_t row, fovea_interval keys);

#endif
