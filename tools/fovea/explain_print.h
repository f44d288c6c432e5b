/* Prints an explanation of a plan as a table. */
#ifndef FOVEA_TOOLS_EXPLAIN_PRINT_H
#define FOVEA_TOOLS_EXPLAIN_PRINT_H

#include "measure.h"
#include <fovea/explain.h>

#include <stdbool.h>

/* `measured`: the machine's rates are what the library reaches, else they are limits. */
void explain_print(const fovea_explanation *explanation, const fovea_problem *problem, bool measured);

/* How fast modes with other arithmetic are against exact mode, both measured. */
void explain_print_speed(const measured_rates *of, const measured_rates *exact);

#endif
