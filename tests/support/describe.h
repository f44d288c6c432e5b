/* Describes problems in the messages of failing tests. */
#ifndef FOVEA_TESTS_DESCRIBE_H
#define FOVEA_TESTS_DESCRIBE_H

#include <fovea/fovea.h>

/* One line that identifies a problem. */
enum { DESCRIPTION_SIZE = 800 };
void problem_describe(const fovea_problem *problem, char *text, size_t size);

#endif
