/* Rotated and converted rows on NEON. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64
#include "vector.h"

#include "../shared/rotary.h"
#endif
