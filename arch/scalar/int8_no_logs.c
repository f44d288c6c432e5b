/* Zeros for the mode int8, for all instruction sets. */
#include "../arithmetic.h"
#include "../kernels.h"
#if FOVEA_BUILDS_INT8
_Static_assert(FOVEA_INT8_NO_LOGS >= FOVEA_BLOCK_KEYS + 16, "a block, and a tile of AMX after it");

const float fovea_int8_no_logs[FOVEA_INT8_NO_LOGS];
#endif
