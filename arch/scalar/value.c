/* The value tile on portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/value.h"
