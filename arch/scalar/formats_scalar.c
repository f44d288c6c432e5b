/* Quantised formats in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/formats.h"
