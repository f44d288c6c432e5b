/* Few rows in portable C. */
#include "tiles.h"
#include "vector.h"

#include "../shared/decode.h"
