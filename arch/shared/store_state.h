/* What store.h knows of the rows of one vector at the end of a tile. */
#ifndef FOVEA_ARCH_SHARED_STORE_STATE_H
#define FOVEA_ARCH_SHARED_STORE_STATE_H

/* The state of one vector of rows. The output has yet to be multiplied by `part` (1 without a sink) and by
 * `inverse`, with one rounding each. */
typedef struct store_state {
  vec maximum, sum, part, inverse;
} store_state;

#endif
