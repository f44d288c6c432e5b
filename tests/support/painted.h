/* How much stack a call uses: it runs on a thread whose stack was painted, and what it has written is looked for.
 */
#ifndef FOVEA_TESTS_PAINTED_H
#define FOVEA_TESTS_PAINTED_H

#include <stddef.h>

/* Whether stacks are measured: in optimised builds on POSIX. Without optimisation or with sanitizers functions need
 * more than the header promises, and calls are only made. */
#if defined(NDEBUG) && !defined(_WIN32)
enum { STACKS_ARE_MEASURED = 1 };
#else
enum { STACKS_ARE_MEASURED = 0 };
#endif

/* Calls act(context) on a thread of its own. Returns the bytes of stack that it used; 0 if stacks are not measured.
 * `act` must not fail the test. What it calls must have run before, so that it does not wait for the linker. */
size_t painted_bytes(void (*act)(void *context), void *context);

/* Fails if these are FOVEA_STACK_SIZE or more; `name` says what was called. */
void assert_small_stack(const char *name, void (*act)(void *context), void *context);

#endif
