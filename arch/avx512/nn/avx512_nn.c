/* Layers by AVX-512: four panels beside six rows take 24 of 32 registers. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "../vector.h"

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 1
#define FOVEA_NN_TILE_ROWS     6
#include "../../shared/nn/bodies.h"
#endif
