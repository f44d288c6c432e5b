/* Outputs beside O and LSE: what the tests of each of them share. */
#ifndef FOVEA_TESTS_OUTPUTS_H
#define FOVEA_TESTS_OUTPUTS_H

#include "trial.h"

/* Runs a problem that wants an output on every instruction set, on one thread and more: the contract's bits, gaps
 * untouched, and O and LSE as `plain` has them, which is the problem without the output. */
void assert_output(const fovea_problem *wanted, const fovea_problem *plain, uint64_t seed);

/* Sets the output that a test is about. */
typedef void (*output_setter)(fovea_problem *problem, int wanted);

/* Checks random problems; no rows, no keys, rows that see nothing, and keys that are split into parts. */
void check_random_outputs(output_setter set, void (*vary)(fovea_problem *, struct generator *, int));
void check_output_lengths(output_setter set);

/* Checks NaN, infinities, large numbers and zeros in a key and a query. `look` may be NULL; it sees each trial
 * after its runs, with the number of the value, which is 0 for NaN. */
void check_special_outputs(output_setter set, void (*look)(const struct trial *, size_t value));

/* fovea_attend() refuses the call, and the text has `text` in it. */
void assert_attend_refused(const fovea_problem *problem, const fovea_tensors *tensors, fovea_status status,
                           const char *text);

#endif
