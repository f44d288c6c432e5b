/* Prints an explanation of a plan as a table. */
#ifndef FOVEA_TOOLS_EXPLAIN_PRINT_H
#define FOVEA_TOOLS_EXPLAIN_PRINT_H

#include <fovea/explain.h>

void explain_print(const fovea_explanation *explanation, const fovea_problem *problem);

#endif
