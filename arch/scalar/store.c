/* The end of a tile in portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/store.h"
