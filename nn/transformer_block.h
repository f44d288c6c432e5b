/* Layers of a transformer, as stacks of them see them. */
#ifndef FOVEA_NN_TRANSFORMER_BLOCK_H
#define FOVEA_NN_TRANSFORMER_BLOCK_H

#include "attention.h"

/* Completes and checks a problem, and sets the rows that it has. */
fovea_status fovea_nn_count_rows(const fovea_problem *given, fovea_problem *problem, int64_t *rows,
                                 fovea_error *error);

/* Names layer i of a stack in an error that it gives: "norm_first is 2; ..." becomes "blocks[3].norm_first is 2; ...".
 * Returns the status. */
fovea_status fovea_nn_fail_in_layer(int64_t i, fovea_status status, fovea_error *error);

/* Reads layer i of a stack. */
fovea_status fovea_nn_read_layer(int64_t i, const fovea_nn_block *given, fovea_nn_block *block, fovea_error *error);

/* What lies around a layer. What has no data is not there. */
typedef struct fovea_nn_around {
  fovea_nn_matrix x, y, scratch;
} fovea_nn_around;

/* Checks a layer, which was read, and what it attends over, by sizes. */
fovea_status fovea_nn_check_block(const fovea_nn_block *block, const fovea_nn_attending *self,
                                  const fovea_nn_attending *cross, fovea_error *error);

/* Checks what attention checks, of a layer that was checked; that y lies apart from the weights, and outputs apart
 * from all else. Sets where the outputs of self and of cross lie. */
fovea_status fovea_nn_check_attentions(const fovea_nn_block *block, const fovea_nn_attending *self,
                                       const fovea_nn_attending *cross, const fovea_nn_around *around,
                                       fovea_nn_output outputs[2][FOVEA_NN_OUTPUT_COUNT], fovea_error *error);

/* What a call of a layer does. */
typedef enum fovea_nn_block_part {
  FOVEA_NN_BLOCK_WHOLE,   /* checks and computes */
  FOVEA_NN_BLOCK_CHECKS,  /* makes the checks that need scratch, and writes nothing but scratch */
  FOVEA_NN_BLOCK_COMPUTES /* computes: all was checked */
} fovea_nn_block_part;

/* The plans of the attentions of a layer, or of all layers of a stack. */
typedef struct fovea_nn_plans {
  fovea_nn_plan self, cross;
} fovea_nn_plans;

static inline fovea_nn_plans fovea_nn_plans_in(fovea_nn_plan_memory *memory) {
  return (fovea_nn_plans){.self = {.memory = memory}, .cross = {.memory = memory}};
}

static inline void fovea_nn_release_plans(fovea_nn_plans *plans) {
  fovea_nn_release_plan(&plans->self);
  fovea_nn_release_plan(&plans->cross);
}

/* As fovea_nn_block_run(), of a layer of which fovea_nn_check_attentions() was called, and x and y were checked. */
fovea_status fovea_nn_run_block(const fovea_nn_block *block, const fovea_nn_attending *self,
                                const fovea_nn_attending *cross, const float *x, float *y, fovea_nn_block_part part,
                                const fovea_execution *execution, fovea_nn_plans *plans, fovea_error *error);

/* Makes the checks of fovea_nn_block_run() by sizes, and lays out its scratch beside the plans. */
fovea_status fovea_nn_measure_block(const fovea_nn_block *block, const fovea_nn_attending *self,
                                    const fovea_nn_attending *cross, int workers, fovea_nn_plans *plans,
                                    fovea_nn_scratch *all, fovea_error *error);

#endif
