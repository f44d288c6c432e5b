/* The functions of docs/numerics.md, clause L2, in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_FUNCTIONS_H
#define FOVEA_TESTS_CONTRACT_FUNCTIONS_H

#include <fovea/nn.h>

float contract_gelu(float x);
float contract_gelu_tanh(float x);
float contract_silu(float x);

/* Any activation. */
float contract_nn_activation(float x, fovea_nn_activation activation);

#endif
