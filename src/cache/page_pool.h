/* What page pools and the tables of their pages share. */
#ifndef FOVEA_SRC_CACHE_PAGE_POOL_H
#define FOVEA_SRC_CACHE_PAGE_POOL_H

#include <fovea/cache.h>
#include <fovea/fovea.h>

/* Checks that pages of the array can be copied, so that nothing fails half-way: page 0 stands for all. With a pool:
 * that the array has all of its pages. */
fovea_status fovea_check_page_array(const fovea_pages *pages, int64_t pages_count, const fovea_page_pool *pool,
                                    fovea_error *error);

static inline int fovea_page_is_used(const fovea_page_pool *pool, int32_t page) {
  return page >= 0 && page < pool->count && pool->references[page] >= 1;
}

#endif
