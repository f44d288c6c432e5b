/* Keys of panels as rows of f32. Part of core.h. */

#include "panel_dims.h"

/* Copies keys of a panel to rows. */
FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(widen_panel)(const fovea_widen_panel_args *args) {
  const int64_t step = fovea_panel_step(args->type);
  FOVEA_NO_UNROLL
  for (int lane = args->first / LANES * LANES; lane < args->first + args->row_count; lane += LANES) {
    const void *keys = (const char *)args->panel + lane * step;
    int first = args->first > lane ? args->first - lane : 0, last = args->first + args->row_count - lane;
    float *to = args->to + (lane - args->first) * args->to_stride;
    if (last > LANES) last = LANES;
    FOVEA_NO_UNROLL
    for (int64_t dim = 0; dim < args->dim; dim += LANES) {
      const int dims = args->dim - dim < LANES ? (int)(args->dim - dim) : LANES;
      float lanes[LANES * LANES] = {0};
      vec square[LANES];
      FOVEA_NO_UNROLL
      for (int d = 0; d < dims; d++) decode_panel_any(keys, dim + d, args->type, lanes + d * LANES);
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++) square[i] = vec_load(lanes + i * LANES);
      vec_transpose(square);
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++) vec_store(lanes + i * LANES, square[i]);
      FOVEA_NO_UNROLL
      for (int i = first; i < last; i++)
        vec_store_first(to + i * args->to_stride + dim, vec_load(lanes + i * LANES), dims);
    }
  }
}
