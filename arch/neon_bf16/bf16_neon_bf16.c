/* The mode bf16 by products of pairs. */
#include "../targets.h"
#if defined(FOVEA_ARCH_AARCH64_EXTENSIONS_BF16) && FOVEA_BUILDS_BF16
#define FOVEA_ISA  neon_bf16
#define FOVEA_BASE neon
#include "../neon/registers.h"
#include "../neon/tiles.h"
#include "pair_layer.h"

#include "../shared/bf16_pairs.h"
#endif
