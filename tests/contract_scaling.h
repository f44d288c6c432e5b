/* Scaled rotary embeddings: section 12 of docs/numerics.md in plain C. It shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_SCALING_H
#define FOVEA_TESTS_CONTRACT_SCALING_H

#include <fovea/rotary_scaling.h>

/* The frequencies of all pairs, and the factor on cosines and sines. Every field is as the rule needs it. */
void contract_scaling(const fovea_rotary_scaling *scaling, double *frequencies, double *factor);

#endif
