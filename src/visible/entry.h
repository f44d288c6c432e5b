/* One entry of the batch. */
#ifndef FOVEA_SRC_VISIBLE_ENTRY_H
#define FOVEA_SRC_VISIBLE_ENTRY_H

#include "../base/interval.h"

#include <fovea/fovea.h>

/* One entry of the batch. All settings per entry are resolved. */
typedef struct fovea_entry {
  int64_t q_first;              /* the entry's first row in Q and O (packed batches), else 0 */
  int64_t q_len;                /* rows that are written; rows from q_seen on see nothing */
  int64_t q_seen;               /* rows that may see keys */
  int64_t kv_first;             /* the entry's first row in K and V (packed batches), else 0 */
  int64_t kv_begin;             /* the first key that is held and wanted */
  int64_t kv_len;               /* after the last key that is held, wanted and not beyond the mask */
  int64_t seen_begin;           /* the first key that some row sees */
  int64_t seen_end;             /* after the last key that some row sees; seen_begin: no row sees a key */
  int64_t mask_begin;           /* the key of the first element of a mask row */
  int64_t offset;               /* the own key of row i is at position i + offset */
  int64_t batch;                /* index along the batch axis */
  const fovea_pattern *pattern; /* NULL: none */
  int gathered;                 /* rows are computed one by one from the keys of their lists, run/gather.h */
  int64_t first_task;           /* counted over the plan, like first_merge */
  int64_t first_merge;
  int64_t first_part; /* the number of its first part, if part 0 begins at position 0 */
  int64_t parts;      /* of each tile: 1 if keys are not split; the nodes of the state if the result is one */
} fovea_entry;

#endif
