/* Takes, shares, releases and owns pages, and compares with a count of their users. */
#ifndef FOVEA_TESTS_FUZZ_PAGE_USERS_H
#define FOVEA_TESTS_FUZZ_PAGE_USERS_H

#include "scene.h"

enum { POOL_PAGES = 6 };

struct pool {
  fovea_page_pool pool;
  int32_t *references;       /* an allocation of exactly that many */
  int32_t users[POOL_PAGES]; /* the model */
};

void pool_create(struct pool *pool);
void pool_destroy(struct pool *pool);

/* Takes, shares or releases some page. */
void use_pool(struct scene *scene, struct pool *pool);
/* Makes a page of the scene's pages its user's own. */
void own_page(struct scene *scene, struct pool *pool);

#endif
