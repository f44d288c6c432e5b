/* Norms and softmax of docs/numerics.md, clauses L3 and L4, in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_NORM_H
#define FOVEA_TESTS_CONTRACT_NORM_H

#include <fovea/nn.h>

/* Normalises a row. gamma and beta may be NULL. */
void contract_norm(fovea_nn_norm_kind kind, const float *x, int64_t dim, float eps, const float *gamma,
                   const float *beta, float *y);

void contract_softmax(const float *x, int64_t dim, float *y);

#endif
