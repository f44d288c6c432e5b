/* The tiled QK^T on NEON. */
#if defined(__aarch64__)
#include "tiles.h"
#include "vector.h"

#include "../shared/score.h"
#endif
