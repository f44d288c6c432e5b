/* Pages that are taken, shared, released and made one's own, beside a count of their users. */
#ifndef FOVEA_TESTS_FUZZ_PAGE_USERS_H
#define FOVEA_TESTS_FUZZ_PAGE_USERS_H

#include "scene.h"

enum { POOL_PAGES = 6 };

struct pool {
  fovea_page_pool pool;
  int32_t *references;       /* an allocation of exactly so many */
  int32_t users[POOL_PAGES]; /* the model */
};

void pool_create(struct pool *pool);
void pool_destroy(struct pool *pool);

/* Takes, shares or releases some page. */
void use_pool(struct scene *scene, struct pool *pool);
/* Of the scene's pages. */
void own_page(struct scene *scene, struct pool *pool);

#endif
