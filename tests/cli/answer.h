/* The answers of the self test's problems, computed from the contract: nothing relies on the library. */
#ifndef FOVEA_TESTS_CLI_ANSWER_H
#define FOVEA_TESTS_CLI_ANSWER_H

#include "tools/fovea/selftest_problems.h"

/* Writes all outputs of the problem. A failing allocation fails the running test. */
void answer_by_contract(selftest_data *data);

#endif
