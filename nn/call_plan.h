/* The plans of a call. Each is made once, for all layers and all steps. */
#ifndef FOVEA_NN_CALL_PLAN_H
#define FOVEA_NN_CALL_PLAN_H

#include "layer_scratch.h"

/* Where the plans of a call lie: at the begin of the caller's scratch, one after the other. */
typedef struct fovea_nn_plan_memory {
  const fovea_execution *execution; /* that plans are made for; NULL: defaults */
  char *scratch;                    /* NULL: plans are allocated */
  size_t size;
  fovea_nn_scratch used; /* what the plans take of scratch, or would take */
} fovea_nn_plan_memory;

/* The plans of one problem: one for each kind of layers that attend over it. */
enum { FOVEA_NN_PLAN_KINDS = 4 };
typedef struct fovea_nn_plan {
  fovea_nn_plan_memory *memory;
  fovea_plan *made[FOVEA_NN_PLAN_KINDS]; /* NULL: none yet */
} fovea_nn_plan;

fovea_nn_plan_memory fovea_nn_plan_memory_of(const fovea_execution *execution);

/* Makes the plan, or finds it made. A call finds all its plans before it uses the rest of its scratch. */
fovea_status fovea_nn_find_plan(fovea_nn_plan *plan, const fovea_problem *problem, int kind,
                                const fovea_plan **found, fovea_error *error);

/* Frees plans that were allocated. */
void fovea_nn_release_plan(fovea_nn_plan *plan);

/* The bytes of the caller's scratch that the plans take: 0 if they are allocated. */
size_t fovea_nn_plans_end(const fovea_nn_plan_memory *memory);

/* The bytes of scratch of a call: of its plans, and the rest. */
size_t fovea_nn_scratch_size(const fovea_nn_plan_memory *memory, const fovea_nn_scratch *rest);

#endif
