/* The instruction sets that this process may name. NULL ends each list. */
#ifndef FOVEA_TESTS_ISAS_H
#define FOVEA_TESTS_ISAS_H

#include <fovea/fovea.h>

/* Every instruction set that this process may name, the best first. NULL ends the list. */
const char *const *usable_isas(void);
/* The same with every name of a table: a set's name and "set/tiles" may stand for one and the same. */
const char *const *usable_names(void);
/* The set of a table "set/tiles", which is what a plan names; a set's own name. Until the next call. */
const char *set_of(const char *isa);

/* The names of sets that serve every problem. The others only add products for one type of Q and K. */
const char *const *whole_isas(void);

/* The same, without names that would run this problem by the very functions and tiles of another one in the list:
 * tables of a set that differ in other modes only, and pairs of a type that Q does not have. Of long problems few
 * have portable C; where tests are slow, also of calls with NULL. NULL stands for an exact problem of f32, and for calls on rows, which have no problem. */
const char *const *usable_isas_for(const fovea_problem *problem);
const char *const *whole_isas_for(const fovea_problem *problem);

#endif
