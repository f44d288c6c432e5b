/* The mode int8 in portable C. */
#include "tiles.h"
#include "vector.h"

#define INT8_INSTRUCTION "f32"
#define INT8_MULTIPLIES_AND_ADDS
#include "../shared/int8_floats.h"

#include "../shared/groups/int8.h"
