/* Rows in and out of a tile on portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/rows.h"
