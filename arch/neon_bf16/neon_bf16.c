/* The table of NEON with products of pairs of bf16. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_BF16
#define FOVEA_ISA  neon_bf16
#define FOVEA_BASE neon
#include "../neon/registers.h"
#include "../neon/tiles.h"
#include "pair_layer.h"

#define FOVEA_SCORE_PAIRS
NEON_REGISTERS_FULL
#include "../shared/pairs.h"
#include "../shared/score.h"
NEON_REGISTERS_END

#include "../shared/table.h"
#endif
