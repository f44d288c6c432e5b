/* Layers in int8 mode by NEON. */
#include "../../targets.h"
#if defined(FOVEA_ARCH_AARCH64_NEON) && FOVEA_BUILDS_INT8
#include "../vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
