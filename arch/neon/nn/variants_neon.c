/* Variants of attention by NEON. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_AARCH64_NEON
#include "../vector.h"
#include "nn_tiles.h"

#include "../../shared/nn/variants.h"
#endif
