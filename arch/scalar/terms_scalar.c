/* Shaw's positions and other normalisers in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/terms.h"
