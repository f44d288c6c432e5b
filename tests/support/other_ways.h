/* Other ways to compute a problem, which have to give its bits. */
#ifndef FOVEA_TESTS_OTHER_WAYS_H
#define FOVEA_TESTS_OTHER_WAYS_H

#include "trial.h"

/* One thread and two to four. */
void assert_same_by_threads(const fovea_problem *problem, uint64_t seed);

/* One run, and the states of two ranges of keys, merged and finished. `cut` is the second range's first key. */
void assert_same_by_states(const fovea_problem *problem, int64_t cut, uint64_t seed);

#endif
