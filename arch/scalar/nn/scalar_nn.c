/* Layers in portable C. */
#include "../vector.h"

#define FOVEA_NN_TILE_VECTORS 4
#define FOVEA_NN_TILE_ROWS    4
#include "../../shared/nn/bodies.h"
