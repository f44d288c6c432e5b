/* Finds the rows of K and V, in tensors or in segments: from a position on, runs of rows at equal distances. */
#ifndef FOVEA_SRC_RUN_ROWS_H
#define FOVEA_SRC_RUN_ROWS_H

#include "task.h"

/* Rows from some position on, at equal distances. */
typedef struct fovea_row_run {
  const char *row; /* of that position; in a panel, the key's first dim */
  int64_t step;    /* bytes to the next row; in a panel, to the next key */
  int64_t end;     /* the position after the last row of the run */
  fovea_type type;
  int panels;
  const fovea_codes *codes; /* NULL: rows of `type`; else `row`, `step` and `type` are not set, but: */
  fovea_coded_rows coded;
} fovea_row_run;

fovea_row_run fovea_key_run(const fovea_task_context *context, int64_t position);
fovea_row_run fovea_value_run(const fovea_task_context *context, int64_t position);

typedef fovea_row_run fovea_find_run(const fovea_task_context *context, int64_t position);

/* Lists the rows, of `dim` elements, of the positions `keys`, which are in the block at `base`. If `whole`, all
 * pointers of the block are set, as a list to prefetch needs them; if not, those of the groups of FOVEA_PANEL_ROWS
 * keys that `keys` are in. */
void fovea_list_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t base,
                     fovea_interval keys, int whole, fovea_row_list *list);

#endif
