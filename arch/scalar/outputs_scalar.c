/* Outputs beside O and LSE in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/outputs.h"
