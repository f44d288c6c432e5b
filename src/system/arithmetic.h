/* The arithmetic of a mode, and the permission to use AMX: on Linux a process must ask for it, and its signal
 * frames grow by 8 KB, so it is used only if the caller allows it. */
#ifndef FOVEA_SRC_SYSTEM_ARITHMETIC_H
#define FOVEA_SRC_SYSTEM_ARITHMETIC_H

#include "../../arch/kernels.h"

/* The arithmetic of a mode beside a table. It is AMX's if AMX is allowed and shares the table's tiles, and neither
 * the problem nor FOVEA_ISA names a set. Else it is the table's; for int8 and a table of pairs it is the arithmetic
 * of the table that this CPU prefers for f32, if it has the same tiles. NULL: exact mode. */
const fovea_arithmetic *fovea_arithmetic_of(fovea_mode mode, const fovea_kernels *kernels, int isa_named);

#endif
