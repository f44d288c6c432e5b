/* The width of a panel of values: the dims of the value register tile that has the most vectors. */
#ifndef FOVEA_ARCH_SHARED_PANEL_H
#define FOVEA_ARCH_SHARED_PANEL_H

#define FOVEA_PANEL_DIMS_(vectors)   FOVEA_VALUE_DIMS_##vectors
#define FOVEA_PANEL_DIMS_OF(vectors) FOVEA_PANEL_DIMS_(vectors)
#define FOVEA_PANEL_DIMS             FOVEA_PANEL_DIMS_OF(FOVEA_TILE_VECTORS)

#endif
