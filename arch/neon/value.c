/* The value tile on NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "registers.h"
#include "tiles.h"
#include "vector.h"

#include "../shared/value.h"
#endif
