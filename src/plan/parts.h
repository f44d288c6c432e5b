/* If there are few tiles and many keys, the keys of a tile are split into parts. Each part has a task of its own,
 * and a second phase merges the states of the parts. A part is a single block, or an aligned range of 2^k spans,
 * whose state is a node of the tree of spans. Merged in the order of the tree, parts give the bits that one task
 * gives. If the result is a state, its parts are its nodes, and each task writes one of them. */
#ifndef FOVEA_SRC_PLAN_PARTS_H
#define FOVEA_SRC_PLAN_PARTS_H

#include "tiles.h"

/* Sets part_keys, the parts of every entry, and parts_scratch. Must be called before tasks are counted; `tiles` is
 * the number of tiles of one kv head, over all entries. */
void fovea_plan_parts(fovea_plan *plan, int64_t tiles);

/* The keys of the task's part, if fovea_has_parts(). */
fovea_interval fovea_part_keys(const fovea_plan *plan, const fovea_task *task);

/* The rows of a part's state, and the floats of one with `rows` rows: whether there is a state at all, then
 * maximum, sum and output of every row, and the sum of its entropy if that is wanted. After them, for each row,
 * the keys with the largest scores: how many, scores, keys; in all a multiple of 64 bytes. */
int64_t fovea_part_rows(const fovea_plan *plan);
uint64_t fovea_part_state_floats(const fovea_plan *plan, int64_t rows);
uint64_t fovea_part_top_floats(const fovea_plan *plan);
uint64_t fovea_part_floats(const fovea_plan *plan, int64_t rows);

#endif
