#include "row_states.h"

#include <string.h>

/* By bits, since a compiler may assume that there are no NaNs. */
float fovea_canonical(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) bits = 0x7fc00000u;
  if (bits == 0x80000000u) bits = 0;
  memcpy(&number, &bits, sizeof bits);
  return number;
}

#if FOVEA_BUILDS_STATES
void fovea_write_outputs(const fovea_kernels *kernels, const fovea_tile_state *from, int64_t count, int row_count,
                         float *const *rows) {
  fovea_store_args args = {
      .state = *from,
      .dim = count,
      .row_count = row_count,
      .rows = (void *const *)rows,
      .type = FOVEA_F32,
      .unnormalised = 1,
  };
  kernels->store(&args);
}

void fovea_write_sums(const fovea_tile_state *from, int row_count, float *const *rows) {
  for (int i = 0; i < row_count; i++) {
    rows[i][0] = fovea_canonical(from->row_max[i]);
    rows[i][1] = fovea_canonical(from->row_sum[i]);
  }
}
#endif

#if FOVEA_BUILDS_TERMS
void fovea_clear_undivided(const fovea_kernels *kernels, const fovea_tile_state *state, int64_t row_stride,
                           int64_t dim, int row_count, const float *divisors) {
  const int64_t row_step = row_stride > 0 ? row_stride : 1, dim_step = row_stride > 0 ? 1 : kernels->row_tile;
  for (int i = 0; i < row_count; i++) {
    for (int64_t d = 0; d < dim && divisors[i] == 0; d++) state->output[i * row_step + d * dim_step] = 0;
  }
}
#endif
