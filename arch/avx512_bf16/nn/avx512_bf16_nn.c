/* Layers of bf16 by AVX-512: as many registers as avx512/nn. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512_BF16
#define FOVEA_ISA  avx512_bf16
#define FOVEA_BASE avx512
#include "../pair_layer.h"

#include "../../avx512/nn/nn_tiles.h"
#include "../../shared/nn/bf16_pairs.h"

#include "../../shared/nn/bf16_mode.h"
#include "../../shared/nn/dot_pairs.h"
#endif
