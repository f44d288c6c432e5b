/* The vector layer of AVX-512. */
#include "arch/targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA avx512_layer
#include "arch/avx512/vector.h"

#include "body.h"
#endif
