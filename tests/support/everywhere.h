/* Makes the same calls in every floating-point environment: the results must be the same, and the environment must
 * be as before. Code that runs there (the function, its callbacks, its threads) must not compute in floating point
 * itself. */
#ifndef FOVEA_TESTS_EVERYWHERE_H
#define FOVEA_TESTS_EVERYWHERE_H

#include "environments.h"
#include "generator.h"

#include <fovea/fovea.h>

/* The instruction set for these calls; NULL: the best. */
extern const char *everywhere_isa;

/* Room for a call's results: zeros, aligned to 64 bytes. All of it is compared. */
void *everywhere_room(size_t bytes);
/* Keeps a status as a result, too. */
void everywhere_keep(fovea_status status);

/* For callbacks: asserts that this thread is in the caller's environment. */
void everywhere_look(void);
/* For threads: enter the caller's environment; assert that flags are as they were then. */
void everywhere_enter(void);
void everywhere_look_at_flags(void);

/* A parallel-for for an execution: up to EVERYWHERE_THREADS new threads, all in the caller's environment. Each
 * asserts that it is still there after every task. */
enum { EVERYWHERE_THREADS = 3 };
void everywhere_loop(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* Calls act() in the usual environment and in every other, and measures its stack (painted.h), on which its own
 * arrays lie, too; then with every instruction set. */
void assert_same_everywhere(void (*act)(void));
void assert_same_everywhere_on_isas(void (*act)(void));
/* The same for exact problems of f32, without instruction sets that would run the very functions of another one. */
void assert_exact_everywhere_on_isas(void (*act)(void));

/* Numbers up to `size`; and values of which every other is a subnormal of about 1000 ulps. */
void fill_numbers(float *numbers, int count, float size, struct generator *generator);
void fill_values(float *numbers, int count, struct generator *generator);

#endif
