/* Holes of a sequence: positions whose keys do not exist. */
#ifndef FOVEA_SRC_RUN_HOLES_H
#define FOVEA_SRC_RUN_HOLES_H

#include "../cache/sequences.h"
#include "../visible/visible_block.h"

/* The next block, from `block` on, in which a segment holds a key that some row of the tile may see by the rules.
 */
int64_t fovea_skip_holes(const fovea_sequence *sequence, const fovea_visible_tile *visible, int64_t block);

/* Whether the segments hold all of `keys` that are in the block at `base`. If not, *held says which they hold. */
int fovea_holds_block(const fovea_sequence *sequence, fovea_interval keys, int64_t base, fovea_row_words *held);

#endif
