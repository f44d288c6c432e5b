/* What NEON offers to the dispatcher. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "tiles.h"
#include "vector.h"

#include "../features.h"

#define FOVEA_FEATURES (FOVEA_CPU_NEON)
#include "../shared/table.h"
#endif
