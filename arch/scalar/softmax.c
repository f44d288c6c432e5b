/* The online softmax on portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/softmax.h"
