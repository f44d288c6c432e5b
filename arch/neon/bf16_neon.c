/* The mode bf16 by NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_NEON
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/bf16.h"
#endif
