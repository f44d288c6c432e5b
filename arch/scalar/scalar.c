/* Portable C: the core and the table. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/core.h"
#include "../shared/table.h"
