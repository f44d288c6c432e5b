/* The mode bf16 in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/bf16.h"
