/* Portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/bodies.h"
