/* The rows of a tile, and limits of lanes and tile sizes. Included after tiles.h and a vector layer. */
#ifndef FOVEA_ARCH_SHARED_TILE_H
#define FOVEA_ARCH_SHARED_TILE_H

#include "../kernels.h"

/* Numbers from one item of a tile's arrays to the next, x[item][row]. */
#define ROW_TILE (FOVEA_TILE_VECTORS * LANES)

#ifndef FOVEA_VECTOR_HOLDS_LOADS
#define vec_load_held vec_load
#endif

_Static_assert(FOVEA_TILE_VECTORS <= FOVEA_CHANNELS_LIMIT, "src/ keeps arrays of a tile's vectors");
_Static_assert(ROW_TILE <= FOVEA_ROW_TILE_LIMIT, "src/ keeps arrays of a tile's rows");
_Static_assert(FOVEA_PANEL_ROWS % LANES == 0, "a panel of keys is whole vectors");
_Static_assert(FOVEA_MASK_PIECE % LANES == 0, "a piece of a mask is whole vectors");
_Static_assert(FOVEA_WEIGHT_SUMS % LANES == 0, "with keys in the lanes, the sums are whole vectors");

#endif
