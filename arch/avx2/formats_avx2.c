/* Quantised formats by AVX2. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX2
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/formats.h"
#endif
