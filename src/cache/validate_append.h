/* Checks of new rows for caches. */
#ifndef FOVEA_SRC_CACHE_VALIDATE_APPEND_H
#define FOVEA_SRC_CACHE_VALIDATE_APPEND_H

#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/rotary.h>

/* `rotary` may be NULL. */
fovea_status fovea_validate_new_rows(const fovea_new_rows *rows, const fovea_rotary *rotary, fovea_error *error);

#endif
