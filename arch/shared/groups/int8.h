/* The mode int8. */
#include "../../groups.h"
#if FOVEA_BUILDS_INT8
#include "../int8.h"
#endif
