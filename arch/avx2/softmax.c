/* The online softmax on AVX2. */
#if defined(__x86_64__) && defined(__GNUC__)
#include "tiles.h"
#include "vector.h"

#include "../shared/softmax.h"
#endif
