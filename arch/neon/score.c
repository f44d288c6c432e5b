/* The tiled QK^T on NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "registers.h"
#include "tiles.h"
#include "vector.h"

#include "../shared/score.h"
#endif
