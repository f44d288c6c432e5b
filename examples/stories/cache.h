/* The keys and values of all layers, for one text: three kinds of cache, and one in 8 bits or less, all of them
 * segments to Fovea. */
#ifndef STORIES_CACHE_H
#define STORIES_CACHE_H

#include "narrow.h"

enum cache_kind {
  CACHE_CONTIGUOUS, /* each layer has room for the whole text in one piece */
  CACHE_PAGED,      /* pages of one pool, taken by all layers as the text grows */
  CACHE_RING        /* each layer keeps the latest positions; the newest takes the place of the oldest */
};

struct cache_shape {
  enum cache_kind kind;
  fovea_type type;
  fovea_key_layout key_layout;
  int64_t layers, kv_heads, head_dim;
  int64_t positions; /* that the text may have */
  int64_t page_rows; /* paged: positions of a page; ring: how many of the latest are kept */
  struct narrow_choice
      narrow;    /* in place of `type`; if keys share scales in groups: contiguous, with keys in rows */
  int64_t chunk; /* positions that are appended at once */
};

struct cache {
  enum cache_kind kind;
  fovea_pages pages; /* paged: of the pool; else one for each layer */
  void *memory;
  size_t bytes; /* of memory */

  fovea_segment *segments; /* of one layer, made anew for each layer */
  int64_t segment_limit;

  fovea_page_pool pool; /* paged only, as what follows */
  int32_t *references;
  int32_t *table;              /* layers x segment_limit: which page holds the positions from i * page_rows on */
  int64_t layers, pages_taken; /* of each layer */

  fovea_format k_format, v_format; /* of pages of codes, which point here: the cache stays where it was created */
  float *scales;                   /* that all keys share, of keys and of values; else not used */

  bool is_narrow; /* keys share scales in groups; then only `narrow`, `segments`, `memory` and `bytes` are used */
  struct narrow_cache narrow;
};

bool cache_create(struct cache *cache, const struct cache_shape *shape, struct failure *failure);
void cache_destroy(struct cache *cache);

/* The first position that is still there when the text has grown to `end` positions. */
int64_t cache_begin(const struct cache *cache, int64_t end);

/* Makes sure that there is memory for the positions before `end`. */
bool cache_reserve(struct cache *cache, int64_t end, struct failure *failure);

/* Call it when all layers have appended the positions before `end`. */
bool cache_settle(struct cache *cache, int64_t end, struct failure *failure);

/* Bytes that a position takes, in all layers. */
double cache_position_bytes(const struct cache *cache);

/* Where one layer's positions from cache_begin(end) to end - 1 lie; good until the next call. */
bool cache_sequence(struct cache *cache, int64_t layer, int64_t end, fovea_sequence *sequence,
                    struct failure *failure);

#endif
