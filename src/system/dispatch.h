/* Which kernel table a problem runs on. */
#ifndef FOVEA_SRC_SYSTEM_DISPATCH_H
#define FOVEA_SRC_SYSTEM_DISPATCH_H

#include "../../arch/kernels.h"
#include <fovea/fovea.h>

/* The table for problems that name none: the best that this CPU can run, capped by FOVEA_ISA. `pair_type` is the
 * type of Q and K if they have the same type, else FOVEA_F32. */
const fovea_kernels *fovea_dispatch_default(fovea_type pair_type);

/* The table of that name; NULL: the default table. Refuses a name that does not exist, or that this CPU cannot run.
 */
fovea_status fovea_dispatch_wanted(const char *name, fovea_type pair_type, const fovea_kernels **kernels,
                                   fovea_error *error);

/* The name of a table, with the name of its set before it if the set has several tables. */
const char *fovea_dispatch_table(const fovea_kernels *kernels);

/* Why a problem gets this table; `is_named`: it names the table or its set; `in_bf16`: half of it is in bf16 mode.
 */
const char *fovea_dispatch_reason(int is_named, int in_bf16, const fovea_kernels *kernels);

/* Fills the fields about instruction sets. */
void fovea_dispatch_report(fovea_library_info *info);

#endif
