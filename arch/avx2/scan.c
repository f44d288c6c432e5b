/* Mask tensors, summed up, on AVX2. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

#include "../shared/scan.h"
#endif
