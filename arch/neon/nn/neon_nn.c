/* Layers by NEON: a panel beside four rows takes sixteen of 32 registers, and four more hold the rows' elements. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "../vector.h"

#define FOVEA_NN_TILE_VECTORS 4
#define FOVEA_NN_TILE_ROWS    4
#include "../../shared/nn/bodies.h"
#endif
