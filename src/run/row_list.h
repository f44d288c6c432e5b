/* Lists the rows of K or V of a block for decoding: one pointer a key. */
#ifndef FOVEA_SRC_RUN_ROW_LIST_H
#define FOVEA_SRC_RUN_ROW_LIST_H

#include "rows.h"

/* Lists the rows of the positions `keys`, which are in the block at `base`. If `whole`, all pointers of the block
 * are set, as a list to prefetch needs them; if not, those of the groups of FOVEA_PANEL_ROWS keys that `keys` are
 * in. */
void fovea_list_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, int whole,
                     fovea_row_list *list);

#endif
