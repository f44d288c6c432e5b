/* Layers in int8 mode by dot products of bytes of NEON. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_INT8
#define FOVEA_ISA    neon_dot
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#include "../../neon/vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
