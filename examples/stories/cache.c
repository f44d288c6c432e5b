#include "cache.h"

#include <stdlib.h>

static int64_t rounded_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/* Pairs of keys lie in units of any size: a page, as in vLLM. */
static void use_pages_as_units(fovea_format *format, int64_t rows) {
  if (format->order == FOVEA_ORDER_KEY_PAIRS) format->order_keys = rows;
}

/* The number of pages, and of positions in a page. */
static bool choose_pages(struct cache *cache, const struct cache_shape *shape, struct failure *failure) {
  int64_t rows = shape->positions;
  fovea_error error;
  if (shape->kind != CACHE_CONTIGUOUS && shape->page_rows < rows) rows = shape->page_rows;
  if (shape->key_layout == FOVEA_KEYS_IN_PANELS || cache->k_format.order || cache->v_format.order)
    rows = rounded_up(rows, FOVEA_PANEL_ROWS);
  use_pages_as_units(&cache->k_format, rows);
  use_pages_as_units(&cache->v_format, rows);
  const int64_t pages = shape->kind == CACHE_PAGED ? (shape->positions + rows - 1) / rows : 1;
  fovea_pages_init(&cache->pages, pages * shape->layers, rows, shape->kv_heads, shape->head_dim, shape->head_dim,
                   shape->type, shape->key_layout);
  cache->layers = shape->layers;
  cache->segment_limit = pages > FOVEA_RING_SEGMENTS ? pages : FOVEA_RING_SEGMENTS;
  return !shape->narrow.k ||
         fovea_pages_set_formats(&cache->pages, &cache->k_format, &cache->v_format, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

/* Bytes of a side of all pages: codes or elements, then scales apart, then as many of zeros or minima. */
static void measure_side(const struct cache *cache, bool values, size_t bytes[3]) {
  const fovea_pages *pages = &cache->pages;
  const fovea_format *format = values ? pages->v_format : pages->k_format;
  const int64_t page = values ? pages->v_strides.batch : pages->k_strides.batch;
  const int64_t scales = values ? pages->v_scale_page : pages->k_scale_page;
  bytes[0] = (size_t)(pages->count * page) * (format ? 1 : pages->k_type == FOVEA_F32 ? 4 : 2);
  bytes[1] = bytes[2] = 0;
  if (!format || format->place != FOVEA_SCALES_APART || format->key_group == 0) return;
  bytes[1] = (size_t)(pages->count * scales);
  bytes[2] = format->formula == FOVEA_FORMULA_SCALE ? 0 : bytes[1];
}

/* Points a side to its memory from byte `at` on; returns the byte after it. Without memory it only counts. */
static size_t place_side(struct cache *cache, bool values, size_t at) {
  size_t bytes[3];
  char *parts[3] = {NULL};
  measure_side(cache, values, bytes);
  for (int i = 0; i < 3; i++) {
    if (cache->memory && bytes[i] > 0) parts[i] = (char *)cache->memory + at;
    at += (size_t)rounded_up((int64_t)bytes[i], 64);
  }
  if (!cache->memory) return at;
  fovea_pages *pages = &cache->pages;
  *(values ? &pages->v : &pages->k) = parts[0];
  fovea_code_scales *scales = values ? &pages->v_scales : &pages->k_scales;
  scales->scales = parts[1];
  scales->zeros = parts[2];
  return at;
}

/* Scales that all keys share are the same for all dims, heads, pages and layers. */
static void share_scales(struct cache *cache, const struct narrow_choice *choice, bool values) {
  fovea_pages *pages = &cache->pages;
  const fovea_format *format = values ? &cache->v_format : &cache->k_format;
  if (!choice->k || format->key_group != 0) return;
  float *scales = cache->scales + (values ? pages->qk_dim : 0);
  for (int64_t i = 0; i < (values ? pages->v_dim : pages->qk_dim); i++) scales[i] = narrow_scale(choice, format);
  *(values ? &pages->v_scales : &pages->k_scales) = (fovea_code_scales){.scales = scales, .group = sizeof *scales};
  *(values ? &pages->v_scale_page : &pages->k_scale_page) = 0;
}

static bool create_narrow(struct cache *cache, const struct cache_shape *shape, struct failure *failure) {
  if (shape->kind != CACHE_CONTIGUOUS || shape->key_layout != FOVEA_KEYS_IN_ROWS)
    return refuse(failure, "a format whose keys share scales in groups needs --cache contiguous and --keys rows");
  if (!narrow_create(&cache->narrow, &cache->k_format, &cache->v_format, shape->layers, shape->kv_heads,
                     shape->head_dim, shape->positions, shape->chunk, failure))
    return false;
  cache->is_narrow = true;
  cache->memory = cache->narrow.memory;
  cache->bytes = cache->narrow.bytes;
  cache->segments = malloc(2 * sizeof *cache->segments);
  if (cache->segments) return true;
  cache_destroy(cache);
  return refuse(failure, "no memory for segments");
}

static bool create_pages(struct cache *cache, const struct cache_shape *shape, struct failure *failure) {
  if (!choose_pages(cache, shape, failure)) return false;
  const fovea_pages *pages = &cache->pages;
  cache->bytes = place_side(cache, true, place_side(cache, false, 0));
  cache->memory = malloc(cache->bytes);
  cache->scales = malloc((size_t)(pages->qk_dim + pages->v_dim) * sizeof *cache->scales);
  cache->segments = malloc((size_t)cache->segment_limit * sizeof *cache->segments);
  cache->references = malloc((size_t)pages->count * sizeof *cache->references);
  cache->table = malloc((size_t)(cache->layers * cache->segment_limit) * sizeof *cache->table);
  fovea_error error;
  const bool room = cache->memory && cache->scales && cache->segments && cache->references && cache->table;
  if (!room) {
    refuse(failure, "no memory for a cache of %zu bytes", cache->bytes);
  } else if (fovea_page_pool_init(&cache->pool, cache->references, (int32_t)pages->count, &error) != FOVEA_OK) {
    refuse(failure, "%s", error.text);
  } else {
    place_side(cache, true, place_side(cache, false, 0));
    share_scales(cache, &shape->narrow, false);
    share_scales(cache, &shape->narrow, true);
    return true;
  }
  cache_destroy(cache);
  return false;
}

bool cache_create(struct cache *cache, const struct cache_shape *shape, struct failure *failure) {
  *cache = (struct cache){.kind = shape->kind};
  if (!shape->narrow.k) return create_pages(cache, shape, failure);
  if (!narrow_choose(&shape->narrow, shape->head_dim, &cache->k_format, &cache->v_format, failure)) return false;
  const bool groups = narrow_group(&cache->k_format) > 1 || narrow_group(&cache->v_format) > 1;
  return (groups ? create_narrow : create_pages)(cache, shape, failure);
}

void cache_destroy(struct cache *cache) {
  if (cache->is_narrow)
    narrow_destroy(&cache->narrow);
  else
    free(cache->memory);
  free(cache->scales);
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
  double sum = 0;
  for (int values = 0; values < 2; values++) {
    size_t bytes[3];
    measure_side(cache, values, bytes);
    for (int i = 0; i < 3; i++) sum += (double)bytes[i];
  }
  return (double)cache->layers * sum / (double)(cache->pages.count * cache->pages.page_rows);
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
