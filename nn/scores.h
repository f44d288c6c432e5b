/* Scores and other outputs of layers of attention: what they may be refused for. */
#ifndef FOVEA_NN_SCORES_H
#define FOVEA_NN_SCORES_H

#include "attention.h"

/* Checks what the caller said of outputs, after their strides were set, and sets call->outputs. */
fovea_status fovea_nn_check_outputs(fovea_nn_attention_call *call, fovea_error *error);

/* Whether one of FOVEA_NN_OUTPUT_COUNT outputs is wanted. */
int fovea_nn_has_outputs(const fovea_nn_output *outputs);

/* Checks that FOVEA_NN_OUTPUT_COUNT outputs share no byte with any of `count` matrices. Matrices without data are
 * not there. */
fovea_status fovea_nn_check_outputs_apart(const fovea_nn_output *outputs, const fovea_nn_matrix *others, int count,
                                          fovea_error *error);

/* Averages of scores lie apart from the mask and from other outputs; what attention itself writes is checked by
 * that. */
fovea_status fovea_nn_check_averages(const fovea_nn_attention_call *call, fovea_error *error);

/* Checks that the outputs of self share no byte with the outputs of cross. */
fovea_status fovea_nn_check_self_and_cross(const fovea_nn_output *self, const fovea_nn_output *cross,
                                           fovea_error *error);

/* Scores of all layers of a stack. */
typedef struct fovea_nn_layer_scores {
  const char *name;          /* of `layer` */
  const float *data;         /* of layer 0 */
  int64_t layer, begin, end; /* elements from layer to layer; the bytes of a layer, counted from its first score */
  fovea_nn_output first;
  int mixed; /* layers differ: some are averaged */
} fovea_nn_layer_scores;

/* Adds the scores of layer i. */
void fovea_nn_add_scores(fovea_nn_layer_scores *all, const fovea_nn_output *scores, int64_t i);

/* Checks that no two layers, and neither self (all[0]) and cross (all[1]), share a byte. */
fovea_status fovea_nn_check_layer_scores(const fovea_nn_layer_scores all[2], int64_t count, fovea_error *error);

/* The bytes from the first to the last of the scores. */
static inline int64_t fovea_nn_score_span(const fovea_nn_output *scores) {
  return scores->data ? scores->reach.end - scores->reach.begin : 0;
}

/* Scratch as a matrix; without data if `scratch` is NULL. */
fovea_nn_matrix fovea_nn_scratch_of(const void *scratch, size_t size);

#endif
