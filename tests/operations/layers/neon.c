/* The vector layer of NEON. */
#include "arch/targets.h"
#ifdef FOVEA_ARCH_AARCH64
#define FOVEA_ISA neon_layer
#include "arch/neon/vector.h"

#include "body.h"
#endif
