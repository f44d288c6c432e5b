/* Layers in portable C. */
#include "../vector.h"
#include "nn_tiles.h"

#include "../../shared/nn/bodies.h"
