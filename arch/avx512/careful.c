/* Values that must not leak on AVX-512. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "tiles.h"
#include "vector.h"

#include "../shared/careful.h"
#endif
