#include "cache.h"

#include <stdlib.h>

static int64_t rounded_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/* The number of pages, and of positions in a page. */
static void choose_pages(struct cache *cache, const struct cache_shape *shape) {
  int64_t rows = shape->positions;
  if (shape->kind != CACHE_CONTIGUOUS && shape->page_rows < rows) rows = shape->page_rows;
  if (shape->key_layout == FOVEA_KEYS_IN_PANELS) rows = rounded_up(rows, FOVEA_PANEL_ROWS);
  const int64_t pages = shape->kind == CACHE_PAGED ? (shape->positions + rows - 1) / rows : 1;
  fovea_pages_init(&cache->pages, pages * shape->layers, rows, shape->kv_heads, shape->head_dim, shape->head_dim,
                   shape->type, shape->key_layout);
  cache->kind = shape->kind;
  cache->layers = shape->layers;
  cache->segment_limit = pages > FOVEA_RING_SEGMENTS ? pages : FOVEA_RING_SEGMENTS;
}

static bool create_narrow(struct cache *cache, const struct cache_shape *shape, struct failure *failure) {
  *cache = (struct cache){.kind = shape->kind, .is_narrow = true, .segment_limit = 2};
  if (!narrow_create(&cache->narrow, &shape->narrow, shape->layers, shape->kv_heads, shape->head_dim,
                     shape->positions, shape->chunk, failure))
    return false;
  cache->segments = malloc((size_t)cache->segment_limit * sizeof *cache->segments);
  if (!cache->segments) {
    cache_destroy(cache);
    return refuse(failure, "no memory for segments");
  }
  cache->memory = cache->narrow.memory;
  cache->bytes = cache->narrow.bytes;
  return true;
}

bool cache_create(struct cache *cache, const struct cache_shape *shape, struct failure *failure) {
  if (shape->narrow.k) return create_narrow(cache, shape, failure);
  *cache = (struct cache){.kind = shape->kind};
  choose_pages(cache, shape);
  const fovea_pages *pages = &cache->pages;
  const size_t element = shape->type == FOVEA_F32 ? 4 : 2;
  const size_t k_bytes = (size_t)(pages->count * pages->k_strides.batch) * element;
  cache->bytes = k_bytes + (size_t)(pages->count * pages->v_strides.batch) * element;
  cache->memory = malloc(cache->bytes);
  cache->segments = malloc((size_t)cache->segment_limit * sizeof *cache->segments);
  cache->references = malloc((size_t)pages->count * sizeof *cache->references);
  cache->table = malloc((size_t)(cache->layers * cache->segment_limit) * sizeof *cache->table);
  fovea_error error;
  const bool room = cache->memory && cache->segments && cache->references && cache->table;
  if (!room) {
    refuse(failure, "no memory for a cache of %zu bytes", cache->bytes);
  } else if (fovea_page_pool_init(&cache->pool, cache->references, (int32_t)pages->count, &error) != FOVEA_OK) {
    refuse(failure, "%s", error.text);
  } else {
    cache->pages.k = cache->memory;
    cache->pages.v = (char *)cache->memory + k_bytes;
    return true;
  }
  cache_destroy(cache);
  return false;
}

void cache_destroy(struct cache *cache) {
  if (cache->is_narrow)
    narrow_destroy(&cache->narrow);
  else
    free(cache->memory);
  free(cache->segments);
  free(cache->references);
  free(cache->table);
  *cache = (struct cache){.kind = CACHE_CONTIGUOUS};
}

int64_t cache_begin(const struct cache *cache, int64_t end) {
  const bool forgets = cache->kind == CACHE_RING && end > cache->pages.page_rows;
  return forgets ? end - cache->pages.page_rows : 0;
}

/* Layers take turns, so that no two pages of one layer are neighbours. */
bool cache_reserve(struct cache *cache, int64_t end, struct failure *failure) {
  if (cache->kind != CACHE_PAGED) return true;
  for (; cache->pages_taken * cache->pages.page_rows < end; cache->pages_taken++)
    for (int64_t layer = 0; layer < cache->layers; layer++) {
      fovea_error error;
      int32_t *page = &cache->table[layer * cache->segment_limit + cache->pages_taken];
      if (fovea_page_take(&cache->pool, page, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
    }
  return true;
}

bool cache_settle(struct cache *cache, int64_t end, struct failure *failure) {
  return !cache->is_narrow || narrow_settle(&cache->narrow, end, failure);
}

double cache_position_bytes(const struct cache *cache) {
  if (cache->is_narrow) return narrow_position_bytes(&cache->narrow);
  const fovea_pages *pages = &cache->pages;
  const int64_t elements = cache->layers * pages->kv_heads * (pages->qk_dim + pages->v_dim);
  return (double)(elements * (pages->k_type == FOVEA_F32 ? 4 : 2));
}

bool cache_sequence(struct cache *cache, int64_t layer, int64_t end, fovea_sequence *sequence,
                    struct failure *failure) {
  const fovea_pages *pages = &cache->pages;
  fovea_error error;
  fovea_status status = FOVEA_OK;
  if (cache->is_narrow) {
    *sequence = fovea_sequence_of(cache->segments, narrow_segments(&cache->narrow, layer, end, cache->segments));
    return true;
  }
  switch (cache->kind) {
  case CACHE_CONTIGUOUS:
    *sequence = fovea_sequence_of(cache->segments, 1);
    status = fovea_cache_contiguous(pages, layer, cache->segments, &error);
    break;
  case CACHE_PAGED:
    status = fovea_cache_paged(pages, cache->table + layer * cache->segment_limit, cache->pages_taken, 0, end,
                               cache->segments, cache->segment_limit, sequence, &error);
    break;
  case CACHE_RING:
    status = fovea_cache_ring(pages, layer, cache_begin(cache, end), end, cache->segments, sequence, &error);
    break;
  }
  return status == FOVEA_OK || refuse(failure, "%s", error.text);
}
