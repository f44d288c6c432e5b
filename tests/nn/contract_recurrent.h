/* docs/numerics.md, clauses L10 and L11, in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_RECURRENT_H
#define FOVEA_TESTS_CONTRACT_RECURRENT_H

#include <stdint.h>

/* w . tanh(q + k), or, with a slope that is not negative, w . LeakyReLU(q + k) */
float contract_additive(const float *q, const float *k, const float *w, int64_t dim, float slope);

/* The weights of `count` keys, visible where `seen` says so, from their scores r of scale 1. */
void contract_weights(const float *r, const unsigned char *seen, int64_t count, float *weights);

float contract_sigmoid(float x);

/* The new state of a GRU from both products, gate by gate, and the old state. y may be h. */
void contract_gru(const float *x, const float *products, const float *h, int64_t dim, float *y);

/* The new states of an LSTM. new_c may be c. */
void contract_lstm(const float *x, const float *products, const float *c, int64_t dim, float *y, float *new_c);

#endif
