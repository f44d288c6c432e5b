/* NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "registers.h"
#include "tiles.h"
#include "vector.h"

#define INT8_INSTRUCTION "FMA"
#include "../shared/int8_floats.h"

NEON_REGISTERS_FULL
#include "../shared/score.h"
#include "../shared/value.h"
NEON_REGISTERS_END

#include "../shared/bodies.h"
#endif
