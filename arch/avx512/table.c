/* What AVX-512 offers to the dispatcher. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

#include "../features.h"

#define FOVEA_FEATURES (FOVEA_CPU_AVX512)
#include "../shared/table.h"
#endif
