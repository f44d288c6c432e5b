/* Layers by AVX2. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX2
#include "../vector.h"
#include "nn_tiles.h"

#include "../../shared/nn/bodies.h"
#endif
