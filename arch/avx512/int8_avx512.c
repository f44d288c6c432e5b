/* The mode int8 by AVX-512. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512
#include "tiles.h"
#include "vector.h"

#include "int8_layer.h"

#include "../shared/groups/int8.h"
#endif
