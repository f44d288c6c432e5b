/* What NEON offers to the dispatcher. */
#if defined(__aarch64__)
#include "tiles.h"
#include "vector.h"

#include "../../src/cpu.h"

#define FOVEA_FEATURES (FOVEA_CPU_NEON)
#include "../shared/table.h"
#endif
