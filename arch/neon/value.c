/* The value tile on NEON. */
#if defined(__aarch64__)
#include "tiles.h"
#include "vector.h"

#include "../shared/value.h"
#endif
