/* Rows in and out of a tile on AVX-512. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "tiles.h"
#include "vector.h"

#include "../shared/rows.h"
#endif
