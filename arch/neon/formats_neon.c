/* Quantised formats by NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_NEON
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/formats.h"
#endif
