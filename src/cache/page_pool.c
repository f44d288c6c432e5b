/* Page pools: which pages of a cache are in use. A free page has, as its references, -1 minus the number of the
 * next free page. */
#include "page_pool.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "page_copy.h"

#include <limits.h>

fovea_status fovea_page_pool_init(fovea_page_pool *pool, int32_t *references, int32_t count, fovea_error *error) {
  if (!pool || !references)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", pool ? "references" : "pool");
  if (count < 1 || count == INT32_MAX) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "count is %jd; it must be from 1 to %jd", (int64_t)count,
                      (int64_t)INT32_MAX - 1);
  }
  *pool = (fovea_page_pool){references, count, count, 0};
  for (int32_t page = 0; page < count; page++) references[page] = -1 - (page + 1);
  return FOVEA_OK;
}

fovea_status fovea_page_take(fovea_page_pool *pool, int32_t *page, fovea_error *error) {
  if (!pool || !page) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", pool ? "page" : "pool");
  if (pool->free_count == 0) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "pool has no free page: all %jd are in use", (int64_t)pool->count);
  }
  *page = pool->first_free;
  pool->first_free = -1 - pool->references[*page];
  pool->references[*page] = 1;
  pool->free_count--;
  return FOVEA_OK;
}

static fovea_status check_used(const fovea_page_pool *pool, int32_t page, fovea_error *error) {
  if (!pool) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pool is NULL");
  if (page < 0 || page >= pool->count) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "page is %jd; it must be from 0 to %jd", (int64_t)page,
                      (int64_t)pool->count - 1);
  }
  if (pool->references[page] >= 1) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "page is %jd, which is not in use", (int64_t)page);
}

fovea_status fovea_page_share(fovea_page_pool *pool, int32_t page, fovea_error *error) {
  fovea_status status = check_used(pool, page, error);
  if (!status && pool->references[page] == INT32_MAX) {
    status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "page is %jd, which has %jd users, the most", (int64_t)page,
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

/* Copies the first rows of a page to another page, in every layer. */
static fovea_status copy_page(const fovea_pages *pages, int32_t from, int32_t to, int64_t rows,
                              fovea_error *error) {
  fovea_segment segments[2];
  fovea_known_pages known;
  fovea_status status = fovea_know_pages(pages, &known, error);
  if (status) return status;
  fovea_execution alone;
  fovea_execution_init(&alone);
  alone.threads = 1;
  const fovea_pages *own = &known.pages;
  const fovea_sequence sequences[2] = {fovea_sequence_of(&segments[0], 1), fovea_sequence_of(&segments[1], 1)};
  status = fovea_cache_contiguous(own, from, &segments[0], error);
  if (!status) status = fovea_cache_contiguous(own, to, &segments[1], error);
  if (status) return status;
  if (FOVEA_BUILDS_FORMATS && (own->k_format || own->v_format) && rows >= 1 && rows <= own->page_rows)
    return fovea_copy_coded_page(&known, &segments[0], &segments[1], rows, error);
  return fovea_sequence_copy(&sequences[0], &sequences[1], own->layers, own->kv_heads, own->qk_dim, own->v_dim, 0,
                             rows, &alone, error);
}

static fovea_status check_array(const fovea_pages *pages, int64_t pages_count, fovea_error *error) {
  const fovea_bounded count = {"pages_count", pages_count, 1, FOVEA_LENGTH_LIMIT};
  if (!pages) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pages is NULL");
  return fovea_validate_bounds(NULL, &count, 1, error);
}

fovea_status fovea_check_page_array(const fovea_pages *pages, int64_t pages_count, const fovea_page_pool *pool,
                                    fovea_error *error) {
  fovea_status status = check_array(pages, pages_count, error);
  for (int64_t i = 0; i < pages_count && !status; i++) {
    const fovea_pages *at = &pages[i];
    fovea_segment segment;
    status = fovea_cache_contiguous(at, 0, &segment, error);
    if (status) return status;
    if (at->page_rows != pages->page_rows) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pages[%jd].page_rows is %jd; pages[0].page_rows is %jd", i,
                        at->page_rows, pages->page_rows);
    }
    if (pool && at->count < pool->count) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pages[%jd].count is %jd; the pool has %jd pages", i,
                        at->count, (int64_t)pool->count);
    }
  }
  return status;
}

fovea_status fovea_page_own(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool, int32_t *page,
                            int64_t rows, fovea_error *error) {
  int32_t own = -1;
  if (!page) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "page is NULL");
  fovea_status status = check_array(pages, pages_count, error);
  if (!status) status = check_used(pool, *page, error);
  if (status || !fovea_page_is_shared(pool, *page)) return status;
  status = fovea_check_page_array(pages, pages_count, NULL, error);
  if (!status) status = fovea_page_take(pool, &own, error);
  if (status) return status;
  for (int64_t i = 0; i < pages_count && !status; i++) status = copy_page(&pages[i], *page, own, rows, error);
  if (status) {
    fovea_page_release(pool, own, NULL);
    return status;
  }
  fovea_page_release(pool, *page, NULL);
  *page = own;
  return FOVEA_OK;
}
