/* Quantised formats by AVX-512. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/formats.h"
#endif
