/* AVX-512 with F, BW, DQ and VL: the core and the table. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/core.h"
#include "../shared/table.h"
#endif
