/* Layers in int8 mode by AVX-512 with VNNI. */
#include "../../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX512_INT8
#define FOVEA_ISA    avx512_vnni
#define FOVEA_BASE   avx512
#define FOVEA_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")))
#include "../../avx512/vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
