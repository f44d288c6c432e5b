/* The width of a panel of values: what the widest register tile of the value tile reads at once. */
#ifndef FOVEA_ARCH_SHARED_PANEL_H
#define FOVEA_ARCH_SHARED_PANEL_H

#define FOVEA_PANEL_DIMS_(vectors)   FOVEA_VALUE_DIMS_##vectors
#define FOVEA_PANEL_DIMS_OF(vectors) FOVEA_PANEL_DIMS_(vectors)
#define FOVEA_PANEL_DIMS             FOVEA_PANEL_DIMS_OF(FOVEA_TILE_VECTORS)

#endif
