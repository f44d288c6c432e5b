/* Packed weights: [piece of FOVEA_DOT_PIECE dims][panel of FOVEA_NN_PANEL outputs][dim][output], and of bf16 two
 * dims of an output side by side. Piece by piece, because a task multiplies all its rows by a piece before the
 * next: the weights that it reads lie in one stream. The last piece has the dims that are left over. */
#ifndef FOVEA_NN_PANELS_H
#define FOVEA_NN_PANELS_H

#include "../arch/nn_kernels.h"
#include "../src/base/types.h"

static inline int64_t fovea_nn_padded(int64_t size, int64_t step) {
  return size / step * step + (size % step > 0 ? step : 0);
}

/* Elements of a panel of all pieces. One dim or two lie together. */
static inline int64_t fovea_nn_panel_size(int64_t in, fovea_type type) {
  return (in + (in & (fovea_dims_together(type) - 1))) * FOVEA_NN_PANEL;
}

/* Elements from a panel to the next in the piece from `dim` on. */
static inline int64_t fovea_nn_panel_stride(int64_t in, fovea_type type, int64_t dim) {
  return fovea_nn_panel_size(in - dim < FOVEA_DOT_PIECE ? in - dim : FOVEA_DOT_PIECE, type);
}

/* The place of the piece from `dim` on in the panel of output `out`, the panel's first. */
static inline int64_t fovea_nn_panel_place(int64_t in, int64_t outs, fovea_type type, int64_t dim, int64_t out) {
  return dim * fovea_nn_padded(outs, FOVEA_NN_PANEL) + out / FOVEA_NN_PANEL * fovea_nn_panel_stride(in, type, dim);
}

/* The place of the weight of output `out` for dim `dim`. */
static inline int64_t fovea_nn_weight_place(int64_t in, int64_t outs, fovea_type type, int64_t dim, int64_t out) {
  const int64_t piece = dim / FOVEA_DOT_PIECE * FOVEA_DOT_PIECE, together = fovea_dims_together(type);
  return fovea_nn_panel_place(in, outs, type, piece, out) + (dim - piece) / together * together * FOVEA_NN_PANEL +
         out % FOVEA_NN_PANEL * together + dim % together;
}

#endif
