/* The mode bf16. */
#include "../../groups.h"
#if FOVEA_BUILDS_BF16
#include "../bf16.h"
#endif
