/* Mask tensors, summed up, in portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/scan.h"
