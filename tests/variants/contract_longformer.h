/* docs/numerics.md, clause L16, number by number in plain C: each row asks for itself which keys it sees. Shares no
 * code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_LONGFORMER_H
#define FOVEA_TESTS_CONTRACT_LONGFORMER_H

#include <stdint.h>

enum { LONGFORMER_LAYERS = 7 };

struct contract_longformer {
  int64_t batch, heads, length, qk_dim, v_dim, in, out, window;
  const int8_t *states; /* (batch, length): 1 global, 0 local, -1 padding */
  const float *x;       /* (batch * length, in) */
  double scale;
  /* query, key, value, global_query, global_key, global_value, output; weights of output NULL: none. Biases may be
   * NULL. */
  const float *weights[LONGFORMER_LAYERS], *biases[LONGFORMER_LAYERS];
};

/* Writes (batch * length, out) numbers; without output (.., heads * v_dim). */
void contract_longformer(const struct contract_longformer *layer, float *y);

/* Whether block row i of BigBird sees block j, but for random blocks. */
int contract_bigbird_sees(int64_t blocks, int64_t i, int64_t j);
/* Whether it may draw it. */
int contract_bigbird_may_draw(int64_t blocks, int64_t i, int64_t j);

#endif
