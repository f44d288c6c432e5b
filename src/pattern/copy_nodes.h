/* Copies rules with their lists. */
#ifndef FOVEA_SRC_PATTERN_COPY_NODES_H
#define FOVEA_SRC_PATTERN_COPY_NODES_H

#include "node.h"

/* Memory that is handed out from its beginning. While `memory` is NULL, it only counts. */
typedef struct fovea_arena {
  char *memory;
  uint64_t used; /* bytes */
} fovea_arena;

/* Room for `count` elements of `size` bytes, or NULL while the arena counts. */
void *fovea_arena_take(fovea_arena *arena, int64_t count, size_t size);

/* Copies a checked rule and all that it is made of. Returns NULL while the arena counts. `rows_end` is after the
 * last row of the pattern. */
fovea_node *fovea_copy_rule(fovea_arena *arena, const fovea_rule *rule, int64_t rows_end);

#endif
