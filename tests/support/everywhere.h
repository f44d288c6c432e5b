/* The same calls in every floating-point environment: the same results, and the environment as it was. What runs
 * there (the function, its callbacks, its threads) may not compute in floating point by itself. */
#ifndef FOVEA_TESTS_EVERYWHERE_H
#define FOVEA_TESTS_EVERYWHERE_H

#include "environments.h"
#include "generator.h"

#include <fovea/fovea.h>

/* The instruction set for the calls at work; NULL: the best. */
extern const char *everywhere_isa;

/* Room for a call to write to, zeros, at a multiple of 64 bytes. All of it is compared. */
void *everywhere_room(size_t bytes);
/* A status is a result, too. */
void everywhere_keep(fovea_status status);

/* For callbacks: that this thread is in the environment of the caller. */
void everywhere_look(void);
/* For threads: go into the caller's environment; and that flags are as they were then. */
void everywhere_enter(void);
void everywhere_look_at_flags(void);

/* Acts in the usual environment and in every other; with every instruction set that there is. */
void assert_same_everywhere(void (*act)(void));
void assert_same_everywhere_on_isas(void (*act)(void));

/* Numbers up to `size`; and values of which every other one is a subnormal of about 1000 ulps. */
void fill_numbers(float *numbers, int count, float size, struct generator *generator);
void fill_values(float *numbers, int count, struct generator *generator);

#endif
