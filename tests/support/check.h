/* cmocka, and the headers that it needs before it. */
#ifndef FOVEA_TESTS_CHECK_H
#define FOVEA_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Sizes and counts of a test: usual ones, or long ones if FOVEA_TEST_LONG is in the environment. */
#define USUAL_OR_LONG(usual, long) (getenv("FOVEA_TEST_LONG") == NULL ? (usual) : (long))

/* The same for programs that are slow: through an emulator, or with sanitizers. */
#define USUAL_OR_SLOW(usual, slow) (getenv("FOVEA_TEST_SLOW") == NULL ? (usual) : (slow))

#endif
