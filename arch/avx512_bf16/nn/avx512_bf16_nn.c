/* Layers of bf16 by AVX-512: as many registers as avx512/nn. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA avx512_bf16
#include "../pair_layer.h"

#define FOVEA_NN_TILE_VECTORS  4
#define FOVEA_NN_SPARE_VECTORS 1
#define FOVEA_NN_TILE_ROWS     6
#include "../../shared/nn/dot_pairs.h"
#endif
