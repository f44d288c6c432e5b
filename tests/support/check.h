/* cmocka, and the headers that it needs before it. */
#ifndef FOVEA_TESTS_CHECK_H
#define FOVEA_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How much a test does: everything, or what there is time for under emulators, sanitizers and a second compiler. */
#ifdef FOVEA_TEST_QUICK
#define IF_QUICK(quick, whole) (1 ? (quick) : (whole))
#else
#define IF_QUICK(quick, whole) (0 ? (quick) : (whole))
#endif

#endif
