/* Layers in int8 mode by AVX2 with AVX-VNNI. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX2_INT8
#define FOVEA_ISA    avx2_vnni
#define FOVEA_BASE   avx2
#define FOVEA_TARGET __attribute__((target("avx2,fma,f16c,avxvnni")))
#include "../../avx2/vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
