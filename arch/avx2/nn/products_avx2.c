/* Layers in int8 mode by AVX2. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX2_INT8
#include "../vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
