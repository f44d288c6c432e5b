/* The value tile on AVX-512. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "tiles.h"
#include "vector.h"

#include "../shared/value.h"
#endif
