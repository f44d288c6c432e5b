/* What portable C offers to the dispatcher. */

#include "tiles.h"
#include "vector.h"

#include "../features.h"

#define FOVEA_FEATURES (0)
#include "../shared/table.h"
