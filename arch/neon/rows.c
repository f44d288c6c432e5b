/* Rows in and out of a tile on NEON. */
#if defined(__aarch64__)
#include "tiles.h"
#include "vector.h"

#include "../shared/rows.h"
#endif
