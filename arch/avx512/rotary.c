/* Rotated and converted rows on AVX-512. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "vector.h"

#include "../shared/rotary.h"
#endif
