/* Mask tensors in portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/mask.h"
