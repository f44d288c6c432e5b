/* The position terms of `fovea attend`, read from files. */
#ifndef FOVEA_TOOLS_ATTEND_TERMS_H
#define FOVEA_TOOLS_ATTEND_TERMS_H

#include "failure.h"
#include "npy.h"
#include <fovea/fovea.h>
#include <fovea/terms.h>

enum { ATTEND_TERMS = 2 };

typedef struct attend_terms {
  int count;
  npy_array arrays[ATTEND_TERMS];
  fovea_position_term terms[ATTEND_TERMS];
  const float *numbers[ATTEND_TERMS];
} attend_terms;

/* Each loads a term and puts it into a problem whose sizes are set; the problem then points to `terms`.
 *   load_alibi      slopes: (heads), or (batch, heads);
 *   load_relative   numbers for each distance from -n to n: (2n + 1), or (heads, 2n + 1). */
bool load_alibi(const char *path, attend_terms *terms, fovea_problem *problem, failure *why);
bool load_relative(const char *path, attend_terms *terms, fovea_problem *problem, failure *why);

void attend_terms_free(attend_terms *terms);

#endif
