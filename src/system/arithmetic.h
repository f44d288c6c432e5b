/* The arithmetic of a mode, and the permission to use AMX: on Linux a process must ask for it, and its signal
 * frames grow by 8 KB, so it is used only if the caller allows it. */
#ifndef FOVEA_SRC_SYSTEM_ARITHMETIC_H
#define FOVEA_SRC_SYSTEM_ARITHMETIC_H

#include "../../arch/kernels.h"

/* The arithmetic of a mode beside a table: that of AMX if it is allowed, shares the table's tiles, and neither the
 * problem nor FOVEA_ISA names a set; else the table's, or, of int8 in a table of pairs, that of the table which
 * this CPU prefers for f32, if it has the same tiles. NULL: exact mode. */
const fovea_arithmetic *fovea_arithmetic_of(fovea_mode mode, const fovea_kernels *kernels, int isa_named);

#endif
