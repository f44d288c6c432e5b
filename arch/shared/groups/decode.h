/* Decoding: kernels of their own for few rows. */
#include "../../groups.h"
#if FOVEA_BUILDS_DECODE
#include "../decode.h"
#endif
