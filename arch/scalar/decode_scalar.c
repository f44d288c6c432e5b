/* Decoding in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/groups/decode.h"
