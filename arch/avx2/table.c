/* What AVX2 offers to the dispatcher. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "tiles.h"
#include "vector.h"

#include "../../src/cpu.h"

#define FOVEA_FEATURES (FOVEA_CPU_AVX2 | FOVEA_CPU_FMA | FOVEA_CPU_F16C)
#include "../shared/table.h"
#endif
