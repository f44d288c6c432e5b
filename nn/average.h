/* Scores of a layer of attention as an output: where they lie, and their average over heads. */
#ifndef FOVEA_NN_AVERAGE_H
#define FOVEA_NN_AVERAGE_H

#include "attention.h"

/* Sets the strides with which the core writes scores: the caller's scores, or scores in scratch if they are
 * averaged. */
void fovea_nn_place_scores(fovea_nn_attention_call *call);

/* The bytes of scores in scratch: 0 if they are not averaged. */
uint64_t fovea_nn_score_bytes(const fovea_nn_attention_call *call);

/* Writes the average of call->score_numbers. */
fovea_status fovea_nn_average_scores(const fovea_nn_attention_call *call, const fovea_execution *execution,
                                     fovea_error *error);

#endif
