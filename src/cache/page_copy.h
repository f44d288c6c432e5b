/* Copies pages of codes. */
#ifndef FOVEA_SRC_CACHE_PAGE_COPY_H
#define FOVEA_SRC_CACHE_PAGE_COPY_H

#include "pages.h"

/* Copies the first `rows` (at least 1) rows of a page to another one of the same pages, in every layer, with all
 * rows that share scales, words or panels with them. The segments belong to the two pages. */
fovea_status fovea_copy_coded_page(const fovea_known_pages *known, const fovea_segment *from,
                                   const fovea_segment *to, int64_t rows, fovea_error *error);

#endif
