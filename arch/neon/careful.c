/* Values that must not leak on NEON. */
#if defined(__aarch64__)
#include "tiles.h"
#include "vector.h"

#include "../shared/careful.h"
#endif
