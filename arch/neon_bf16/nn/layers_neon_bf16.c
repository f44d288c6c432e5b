/* Layers in bf16 mode by NEON's products of pairs. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_BF16
#define FOVEA_ISA  neon_bf16
#define FOVEA_BASE neon
#include "../pair_layer.h"

#include "../../neon/nn/nn_tiles.h"
#include "../../shared/nn/bf16_pairs.h"

#include "../../shared/nn/bf16_mode.h"
#endif
