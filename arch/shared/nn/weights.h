/* What linear layers multiply, copied as f32: rows of x are converted, rows of weights transposed into panels,
 * panels of 16 bits converted. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_WEIGHTS_H
#define FOVEA_ARCH_SHARED_NN_WEIGHTS_H

#include "../../nn_kernels.h"
#include "../types.h"
#include "../widen.h"

/* As in kernels.h. */
FOVEA_KERNEL void FOVEA_NAME(nn_widen)(const fovea_widen_args *args){TYPED(args->type, widen_rows(args, constant))}

/* Transposes up to LANES dims of LANES outputs, whose weights lie in rows. */
FOVEA_INLINE void weights_square(const void *const *rows, int row_count, int64_t dim, int dims, float *to,
                                 const fovea_type type) {
  vec square[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) {
    if (i >= row_count) {
      square[i] = vec_set1(0.0f);
    } else {
      square[i] = dims == LANES ? typed_load(rows[i], dim, type) : typed_load_first(rows[i], dim, dims, type);
    }
  }
  vec_transpose(square);
  FOVEA_NO_UNROLL
  for (int d = 0; d < dims; d++) vec_store(to + d * FOVEA_NN_PANEL, square[d]);
}

/* LANES outputs from `out` on, of a panel that begins at `to`; outputs that do not exist become zeros. */
FOVEA_INLINE void weights_of_lanes(const fovea_nn_widen_args *args, int out, float *to, const fovea_type type) {
  const void *rows[LANES] = {NULL};
  const int rest = args->outs - out, count = rest < 0 ? 0 : rest < LANES ? rest : LANES;
  for (int i = 0; i < count; i++) rows[i] = typed_at(args->weights, (out + i) * args->stride, type);
  FOVEA_NO_UNROLL
  for (int d = 0; d < args->dims; d += LANES) {
    const int dims = args->dims - d < LANES ? args->dims - d : LANES;
    weights_square(rows, count, d, dims, to + d * FOVEA_NN_PANEL, type);
  }
}

FOVEA_INLINE void weights_of_rows(const fovea_nn_widen_args *args, const fovea_type type) {
  float *panel = args->to;
  for (int first = 0; first < args->outs; first += FOVEA_NN_PANEL, panel += FOVEA_DOT_PIECE * FOVEA_NN_PANEL) {
    for (int lane = 0; lane < FOVEA_NN_PANEL; lane += LANES) {
      weights_of_lanes(args, first + lane, panel + lane, type);
    }
  }
}

/* One dim of a panel: 16 elements, of `together` dims side by side. */
FOVEA_INLINE void weights_of_panel(const void *panel, int dims, float *to, const fovea_type type) {
  const int together = fovea_dims_together(type);
  for (int d = 0; d < dims; d += together) {
    for (int out = 0; out < FOVEA_NN_PANEL; out += LANES) {
      const int64_t first = (int64_t)d * FOVEA_NN_PANEL + (int64_t)out * together;
      float *row = to + d * FOVEA_NN_PANEL + out;
      if (together == 2) {
        vec even, odd;
        vec_split_bf16(vec_load_pairs((const uint16_t *)panel + first), &even, &odd);
        vec_store(row, even);
        if (d + 1 < dims) vec_store(row + FOVEA_NN_PANEL, odd);
      } else {
        vec_store(row, typed_load(panel, first, type));
      }
    }
  }
}

FOVEA_INLINE void weights_of_panels(const fovea_nn_widen_args *args, const fovea_type type) {
  for (int out = 0, panel = 0; out < args->outs; out += FOVEA_NN_PANEL, panel++) {
    const void *first = typed_at(args->weights, panel * args->stride, type);
    weights_of_panel(first, args->dims, args->to + panel * FOVEA_DOT_PIECE * FOVEA_NN_PANEL, type);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_widen_weights)(const fovea_nn_widen_args *args) {
  if (args->in_panels) {
    TYPED(args->type, weights_of_panels(args, constant))
  } else {
    TYPED(args->type, weights_of_rows(args, constant))
  }
}

#endif
