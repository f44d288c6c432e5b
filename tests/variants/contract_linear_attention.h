/* docs/numerics.md, clause L14, number by number in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_LINEAR_ATTENTION_H
#define FOVEA_TESTS_CONTRACT_LINEAR_ATTENTION_H

#include <stdint.h>

/* One head, all of its tokens. */
struct contract_linear {
  int64_t tokens, reads, k_dim, v_dim;
  int is_gated, is_delta, per_dim, unit;
  float scale, eps;
  const float *q, *k, *v;      /* (tokens, reads, k_dim), (tokens, k_dim), (tokens, v_dim) */
  const float *decay, *factor; /* (tokens, k_dim or 1); NULL: 1 */
  const float *beta;           /* (tokens); NULL: 1 */
  const float *skip;           /* one number; NULL: none */
};

/* state (k_dim, v_dim) is the old one, and becomes the new one; o is (tokens, reads, v_dim). */
void contract_linear_head(const struct contract_linear *head, float *state, float *o);

#endif
