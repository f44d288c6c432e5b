/* Variants of attention by AVX-512. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512
#include "../vector.h"
#include "nn_tiles.h"

#include "../../shared/nn/variants.h"
#endif
