/* Values that must not leak on portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/careful.h"
