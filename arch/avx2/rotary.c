/* Rotated and converted rows on AVX2. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "vector.h"

#include "../shared/rotary.h"
#endif
