/* Few rows in AVX-512. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

#include "../shared/decode.h"
#endif
