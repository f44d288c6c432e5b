/* NEON: the core and the table. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_NEON
#include "registers.h"
#include "tiles.h"
#include "vector.h"

NEON_REGISTERS_FULL
#include "../shared/score.h"
#include "../shared/value.h"
NEON_REGISTERS_END

#include "../shared/groups/core.h"
#include "../shared/table.h"
#endif
