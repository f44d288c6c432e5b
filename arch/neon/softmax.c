/* The online softmax on NEON. */
#if defined(__aarch64__)
#include "tiles.h"
#include "vector.h"

#include "../shared/softmax.h"
#endif
