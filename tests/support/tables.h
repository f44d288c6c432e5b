/* The kernel tables that this CPU can run, as the dispatcher lists them. */
#ifndef FOVEA_TESTS_TABLES_H
#define FOVEA_TESTS_TABLES_H

#include "arch/kernels.h"

/* Tables with operations of their own, one for each set of functions; the last pointer is NULL. */
const fovea_kernels *const *whole_tables(void);
/* Tables that add products of pairs to a table of whole_tables(). */
const fovea_kernels *const *pair_tables(void);

/* Whether both tables compute exact problems whose Q has this type by the same functions, in the same tiles. */
int tables_act_alike(const fovea_kernels *one, const fovea_kernels *other, fovea_type q_type);

/* The same for this problem, whose halves may be in a mode: then also by the same arithmetic. */
int tables_run_alike(const fovea_kernels *one, const fovea_kernels *other, const fovea_problem *problem);

#endif
