/* Variants of attention in portable C. */
#include "../vector.h"
#include "nn_tiles.h"

#include "../../shared/nn/variants.h"
