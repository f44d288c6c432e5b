#include "cache.h"

#include <stdlib.h>
#include <string.h>

const struct choice cache_types[] = {{"q8_0", CACHE_Q8_0}, {"f16", CACHE_F16}, {"f32", CACHE_F32}, {NULL, 0}};

/* Heads of fewer dims than a group of q8_0 are one group. */
static bool describe_pages(struct cache *cache, const struct model *model, enum cache_type type, int64_t page_rows,
                           struct failure *failure) {
  const int64_t dim = model->head_dim;
  fovea_error error;
  fovea_pages_init(&cache->pages, cache->batch * cache->table_length, page_rows, model->kv_heads, dim, dim,
                   type == CACHE_F16 ? FOVEA_F16 : FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  cache->pages.layers = model->layers;
  if (type != CACHE_Q8_0) return true;
  fovea_status status = fovea_format_init(&cache->format, FOVEA_FORMAT_Q8_0, &error);
  if (cache->format.group > dim) cache->format.group = dim;
  if (!status) status = fovea_pages_set_formats(&cache->pages, &cache->format, &cache->format, &error);
  return status == FOVEA_OK || refuse(failure, "a cache in q8_0: %s", error.text);
}

static bool allocate(struct cache *cache, struct failure *failure) {
  fovea_pages *pages = &cache->pages;
  const size_t slots = (size_t)cache->batch, entries = (size_t)pages->count;
  const int64_t size = pages->k_format ? 1 : pages->k_type == FOVEA_F32 ? 4 : 2;
  const size_t side = (size_t)(pages->layers * pages->k_layer * size); /* values take as much as keys */
  fovea_error error;
  cache->bytes = 2 * side;
  cache->memory = malloc(cache->bytes);
  cache->references = malloc(entries * sizeof *cache->references);
  cache->tables = malloc(entries * sizeof *cache->tables);
  cache->segments = malloc(entries * sizeof *cache->segments);
  cache->page_counts = calloc(slots, sizeof *cache->page_counts);
  cache->sequences = malloc(slots * sizeof *cache->sequences);
  if (!cache->memory || !cache->references || !cache->tables || !cache->segments || !cache->page_counts ||
      !cache->sequences)
    return refuse(failure, "no memory for a cache of %zu bytes", cache->bytes);
  pages->k = cache->memory;
  pages->v = (char *)cache->memory + side;
  return fovea_page_pool_init(&cache->pool, cache->references, (int32_t)entries, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

bool cache_create(struct cache *cache, const struct model *model, enum cache_type type, int64_t page_rows,
                  int64_t batch, int64_t longest, struct failure *failure) {
  *cache = (struct cache){.batch = batch, .table_length = (longest + page_rows - 1) / page_rows};
  if (describe_pages(cache, model, type, page_rows, failure) && allocate(cache, failure)) return true;
  cache_destroy(cache);
  return false;
}

void cache_destroy(struct cache *cache) {
  free(cache->memory);
  free(cache->references);
  free(cache->tables);
  free(cache->segments);
  free(cache->page_counts);
  free(cache->sequences);
  *cache = (struct cache){.memory = NULL};
}

bool cache_extend(struct cache *cache, int64_t count, const int64_t *lens, const int64_t *ends,
                  struct failure *failure) {
  const fovea_pages *pages = &cache->pages;
  fovea_error error;
  fovea_status status = fovea_page_extend(pages, 1, &cache->pool, count, cache->tables, cache->table_length,
                                          cache->page_counts, lens, ends, &error);
  if (!status)
    status = fovea_cache_paged_batch(pages, count, cache->tables, cache->table_length, NULL, ends, cache->segments,
                                     pages->count, cache->sequences, &error);
  return status == FOVEA_OK || refuse(failure, "%s", error.text);
}

bool cache_drop(struct cache *cache, int64_t slot, int64_t last, struct failure *failure) {
  int32_t *table = cache->tables + slot * cache->table_length;
  const int64_t none = 0;
  fovea_error error;
  if (fovea_page_truncate(&cache->pool, cache->pages.page_rows, 1, table, cache->table_length,
                          &cache->page_counts[slot], &none, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  memmove(table, cache->tables + last * cache->table_length, (size_t)cache->table_length * sizeof *table);
  cache->page_counts[slot] = cache->page_counts[last];
  cache->page_counts[last] = 0;
  return true;
}
