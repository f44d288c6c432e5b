/* The caller's pages, read and checked. */
#ifndef FOVEA_SRC_CACHE_PAGES_H
#define FOVEA_SRC_CACHE_PAGES_H

#include "../../arch/groups.h"
#include "../base/caller.h"

/* Pages, and what the keys (0) and the values (1) of a page lie in. */
typedef struct fovea_known_pages {
  fovea_pages pages;
  int64_t row_keys[2];   /* keys that one step of `row` leads on: 1; of a panel; of a unit of codes */
  int64_t scale_keys[2]; /* keys that share scales; 1: each has its own, or none; 0: all */
} fovea_known_pages;

/* Reads the caller's struct and checks it: all pointers are set and aligned, and reach no further than addresses
 * do.
 */
fovea_status fovea_know_pages(const fovea_pages *given, fovea_known_pages *known, fovea_error *error);

/* The least number of rows that segments of pages begin at multiples of. */
int64_t fovea_page_step(const fovea_known_pages *known);

static inline const fovea_format *fovea_page_format(const fovea_pages *pages, int values) {
  return values ? pages->v_format : pages->k_format;
}

#endif
