/* Rows that see keys of lists in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/lists.h"
