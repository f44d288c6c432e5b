/* Runs this program once more, in another process: what a process finds out once can be tried again only there. */
#ifndef FOVEA_TESTS_AGAIN_H
#define FOVEA_TESTS_AGAIN_H

enum { AGAIN_IMPOSSIBLE = 126 };

/* Runs this program with FOVEA_ISA set and three arguments, which must not hold quotes. Returns its exit status;
 * AGAIN_IMPOSSIBLE if it cannot be started (with some emulators); -1 if it did not end by itself. */
int run_again(const char *isa, const char *first, const char *second, const char *third);

#endif
