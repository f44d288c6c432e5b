/* Calls that need groups of kernels. */
#ifndef FOVEA_TESTS_GROUPS_H
#define FOVEA_TESTS_GROUPS_H

#include <fovea/fovea.h>

enum { GROUPS_OF_CALL = 2 };

typedef struct group_call {
  const char *groups[GROUPS_OF_CALL]; /* that it needs, NULL after the last */
  const char *what, *field;           /* field: that a refusal names; "": of a call */
  fovea_status (*make)(fovea_error *error);
} group_call;

/* Of fovea_nn: groups_nn.c. */
extern const group_call layer_calls[];
extern const int layer_call_count;

#endif
