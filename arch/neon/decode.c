/* Few rows in NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "tiles.h"
#include "vector.h"

#include "../shared/decode.h"
#endif
