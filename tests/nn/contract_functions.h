/* The functions of docs/numerics.md, clause L2, in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_FUNCTIONS_H
#define FOVEA_TESTS_CONTRACT_FUNCTIONS_H

#include <fovea/nn.h>

float contract_gelu(float x);
float contract_gelu_tanh(float x);
float contract_silu(float x);

/* 2^-32 (1 + e^-w), for w from -110 to 32. */
float contract_one_and_exp(float w);

/* e^x, 0 below -86.5. */
float contract_exp(float x);

/* Any activation. */
float contract_nn_activation(float x, fovea_nn_activation activation);

#endif
