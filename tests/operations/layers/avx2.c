/* The vector layer of AVX2. */
#include "arch/targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA avx2_layer
#include "arch/avx2/vector.h"

#include "body.h"
#endif
