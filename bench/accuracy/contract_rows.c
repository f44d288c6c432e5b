/* Rows of one head by the contract of modes, for contract.py. */
#include "tests/modes/contract_modes.h"

/* A row sees positions 0 to *last. */
static int sees(const void *last, int64_t position) {
  return position <= *(const int64_t *)last;
}

void contract_rows(int scores, int values, int64_t rows, int64_t positions, int64_t dim, double scale,
                   const float *q, const int64_t *last, const float *k, const float *v, const float *key_centre,
                   const float *key_scale, const float *value_scale, float *out);

/* q and out are [rows][dim], k and v [positions][dim]; row i sees positions 0 to last[i]. A vector that is NULL is
 * absent. */
void contract_rows(int scores, int values, int64_t rows, int64_t positions, int64_t dim, double scale,
                   const float *q, const int64_t *last, const float *k, const float *v, const float *key_centre,
                   const float *key_scale, const float *value_scale, float *out) {
  for (int64_t i = 0; i < rows; i++) {
    float lse;
    const struct contract_mode_row row = {.scores = (enum contract_mode)scores,
                                          .values = (enum contract_mode)values,
                                          .q = q + i * dim,
                                          .k = k,
                                          .v = v,
                                          .k_stride = dim,
                                          .v_stride = dim,
                                          .qk_dim = dim,
                                          .v_dim = dim,
                                          .positions = positions,
                                          .scale = scale,
                                          .sees = sees,
                                          .rules = last + i,
                                          .key_centre = key_centre,
                                          .key_scale = key_scale,
                                          .value_scale = value_scale};
    contract_mode_row(&row, out + i * dim, &lse);
  }
}
