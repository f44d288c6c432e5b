/* What a process finds out once can be met again only in another process: this program, started once more. */
#ifndef FOVEA_TESTS_AGAIN_H
#define FOVEA_TESTS_AGAIN_H

enum { AGAIN_IMPOSSIBLE = 126 };

/* Runs this program with FOVEA_ISA set and three arguments, which hold no quotes. Returns its exit status;
 * AGAIN_IMPOSSIBLE where it cannot be started (through some emulators), -1 when it did not end by itself. */
int run_again(const char *isa, const char *first, const char *second, const char *third);

#endif
