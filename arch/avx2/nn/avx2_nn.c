/* Layers by AVX2: two panels beside three rows take twelve of sixteen registers. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "../vector.h"

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 2
#define FOVEA_NN_TILE_ROWS     3
#include "../../shared/nn/bodies.h"
#endif
