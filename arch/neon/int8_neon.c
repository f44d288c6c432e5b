/* The mode int8 by NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_NEON
#include "tiles.h"
#include "vector.h"

#define INT8_INSTRUCTION "FMA"
#include "../shared/int8_floats.h"

#include "../shared/groups/int8.h"
#endif
