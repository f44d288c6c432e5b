/* How rows of a format are quantised: its rule, as kernels know it (arch/narrow.h), and what cannot be
 * quantised. */
#ifndef FOVEA_SRC_CACHE_QUANTISERS_H
#define FOVEA_SRC_CACHE_QUANTISERS_H

#include "../../arch/groups.h"
#include "../../arch/narrow.h"

/* Most dims of a row that is quantised or rotated by Hadamard: such a row lies on the stack. */
enum { FOVEA_QUANTISED_DIMS = 4096 };

/* Whether the quantiser of a format that has been checked otherwise knows its code, formula and key_group. */
int fovea_quantiser_knows(const fovea_format *format);

/* The rule of a format that has been checked. */
fovea_quantise_rule fovea_make_rule(const fovea_format *format);

/* Whether the numbers of a format's table ascend; 1 without a table. */
int fovea_table_ascends(const fovea_format *format);

#endif
