/* The tiled QK^T on portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/score.h"
