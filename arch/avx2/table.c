/* What AVX2 offers to the dispatcher. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

#include "../features.h"

#define FOVEA_FEATURES (FOVEA_CPU_AVX2 | FOVEA_CPU_FMA | FOVEA_CPU_F16C)
#include "../shared/table.h"
#endif
