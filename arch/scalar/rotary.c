/* Rotated and converted rows on portable C. */

#include "vector.h"

#include "../shared/rotary.h"
