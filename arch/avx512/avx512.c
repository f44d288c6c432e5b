/* AVX-512 with F, BW, DQ and VL. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

#include "int8_layer.h"

#include "../shared/bodies.h"
#endif
