/* Keys and values of a batch of sequences: pages of one pool, which all layers of a model share. */
#ifndef LLM_CACHE_H
#define LLM_CACHE_H

#include "../stories/words.h"
#include "model.h"

#include <fovea/format.h>

enum cache_type { CACHE_Q8_0, CACHE_F16, CACHE_F32 };

/* Their names, in this order. */
extern const struct choice cache_types[];

struct cache {
  fovea_format format; /* of q8_0; the pages point here: a cache stays where it was created */
  fovea_pages pages;
  fovea_page_pool pool;
  int32_t *references;
  void *memory;
  size_t bytes; /* of memory */

  int32_t *tables;      /* a row for each slot of the batch */
  int64_t *page_counts; /* of each slot */
  int64_t table_length, batch;
  fovea_segment *segments;
  fovea_sequence *sequences; /* of each slot, made anew by each cache_extend() */
};

/* Room for `batch` sequences of `longest` positions. */
bool cache_create(struct cache *cache, const struct model *model, enum cache_type type, int64_t page_rows,
                  int64_t batch, int64_t longest, struct failure *failure);
void cache_destroy(struct cache *cache);

/* The sequences in the first `count` slots have lens[slot] positions, and are to have ends[slot]. */
bool cache_extend(struct cache *cache, int64_t count, const int64_t *lens, const int64_t *ends,
                  struct failure *failure);

/* Gives the pages of a slot back; the sequence of slot `last` then has this slot. */
bool cache_drop(struct cache *cache, int64_t slot, int64_t last, struct failure *failure);

#endif
