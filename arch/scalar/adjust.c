/* Softcap and masks on scores in portable C. */

#include "tiles.h"
#include "vector.h"

#include "../shared/adjust.h"
