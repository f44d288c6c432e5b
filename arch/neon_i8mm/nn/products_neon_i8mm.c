/* Layers in int8 mode by products of matrices of bytes of NEON. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_INT8
#define FOVEA_ISA    neon_i8mm
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))
#include "../../neon/vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
