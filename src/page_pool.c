/* Which pages of a cache are in use. References of a free page are -1 minus the free page after it. */
#include "caller.h"
#include "error.h"

#include <limits.h>

fovea_status fovea_page_pool_init(fovea_page_pool *pool, int32_t *references, int32_t count, fovea_error *error) {
  if (!pool || !references) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", pool ? "references" : "pool");
  if (count < 1 || count == INT32_MAX) {
    return fovea_fail(error, FOVEA_ERROR_SIZE, "count is %d; it must be from 1 to %d", (int64_t)count,
                      (int64_t)INT32_MAX - 1);
  }
  *pool = (fovea_page_pool){references, count, count, 0};
  for (int32_t page = 0; page < count; page++) references[page] = -1 - (page + 1);
  return FOVEA_OK;
}

fovea_status fovea_page_take(fovea_page_pool *pool, int32_t *page, fovea_error *error) {
  if (!pool || !page) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", pool ? "page" : "pool");
  if (pool->free_count == 0) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "none of the pool's %d pages is free", (int64_t)pool->count);
  }
  *page = pool->first_free;
  pool->first_free = -1 - pool->references[*page];
  pool->references[*page] = 1;
  pool->free_count--;
  return FOVEA_OK;
}

static fovea_status check_used(const fovea_page_pool *pool, int32_t page, fovea_error *error) {
  if (!pool) return fovea_fail(error, FOVEA_ERROR_NULL, "pool is NULL");
  if (page < 0 || page >= pool->count) {
    return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "page is %d; it must be from 0 to %d", (int64_t)page,
                      (int64_t)pool->count - 1);
  }
  if (pool->references[page] >= 1) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "page %d is not in use", (int64_t)page);
}

fovea_status fovea_page_share(fovea_page_pool *pool, int32_t page, fovea_error *error) {
  fovea_status status = check_used(pool, page, error);
  if (!status && pool->references[page] == INT32_MAX) {
    status = fovea_fail(error, FOVEA_ERROR_SIZE, "page %d has %d users, which is the most", (int64_t)page,
                        (int64_t)INT32_MAX);
  }
  if (!status) pool->references[page]++;
  return status;
}

fovea_status fovea_page_release(fovea_page_pool *pool, int32_t page, fovea_error *error) {
  fovea_status status = check_used(pool, page, error);
  if (status || --pool->references[page] > 0) return status;
  pool->references[page] = -1 - pool->first_free;
  pool->first_free = page;
  pool->free_count++;
  return FOVEA_OK;
}

int fovea_page_is_shared(const fovea_page_pool *pool, int32_t page) {
  return pool && page >= 0 && page < pool->count && pool->references[page] > 1;
}

/* The first rows of one page into another one. */
static fovea_status copy_page(const fovea_pages *pages, int32_t from, int32_t to, int64_t rows,
                              fovea_error *error) {
  fovea_segment segments[2];
  const fovea_sequence sequences[2] = {{&segments[0], 1}, {&segments[1], 1}};
  fovea_status status = fovea_cache_contiguous(pages, from, &segments[0], error);
  if (!status) status = fovea_cache_contiguous(pages, to, &segments[1], error);
  if (status) return status;
  return fovea_sequence_copy(&sequences[0], &sequences[1], pages->kv_heads, pages->qk_dim, pages->v_dim, 0, rows,
                             error);
}

fovea_status fovea_page_own(const fovea_pages *pages, fovea_page_pool *pool, int32_t *page, int64_t rows,
                            fovea_error *error) {
  int32_t own = -1;
  if (!page) return fovea_fail(error, FOVEA_ERROR_NULL, "page is NULL");
  fovea_status status = check_used(pool, *page, error);
  if (status || !fovea_page_is_shared(pool, *page)) return status;
  status = fovea_page_take(pool, &own, error);
  if (status) return status;
  status = copy_page(pages, *page, own, rows, error);
  if (status) {
    fovea_page_release(pool, own, NULL);
    return status;
  }
  fovea_page_release(pool, *page, NULL);
  *page = own;
  return FOVEA_OK;
}
