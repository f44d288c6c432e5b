/* Copies elements of one key out of a panel or into it. A panel has FOVEA_PANEL_ROWS keys side by side. */
#ifndef FOVEA_SRC_CACHE_PANELS_H
#define FOVEA_SRC_CACHE_PANELS_H

#include <fovea/fovea.h>

/* Copy `count` dims of a key, from dim `first` on, between a panel and neighbouring elements of the same type.
 * Writing the last dim also writes the zeros that lie together with it, if there are any. */
void fovea_panel_read(const void *panel, fovea_type type, int64_t key, int64_t first, int64_t count,
                      void *elements);
void fovea_panel_write(void *panel, fovea_type type, int64_t key, int64_t first, int64_t count, int64_t dim,
                       const void *elements);

#endif
