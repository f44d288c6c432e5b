/* AVX2 with FMA and F16C. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

#include "../shared/bodies.h"
#endif
