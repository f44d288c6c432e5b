/* One row of a linear layer in int8 mode: each piece of the dims for many outputs, before the next piece. So the
 * weights of a piece are read as one stream, and only once. */
#include "linear_finish.h"
#include "linear_int8.h"

/* Outputs whose sums are kept. */
enum { ROW_OUTS = 2048 };

static fovea_nn_quantised_args piece_of(const fovea_nn_int8_row *row, int64_t dim, int64_t out) {
  const fovea_nn_quantised_header *h = &row->int8->header;
  const char *weights = row->int8->linear->weights;
  const int64_t dims = fovea_nn_quantised_dims(h, dim);
  return (fovea_nn_quantised_args){.bits = (int)h->bits,
                                   .group = (int)h->group,
                                   .has_offsets = (int)h->has_offsets,
                                   .values = h->values,
                                   .weights = weights + fovea_nn_quantised_place(h, dim, out),
                                   .panel_stride = fovea_nn_quantised_panel_bytes(h, dims),
                                   .pieces = 1,
                                   .dims = (int)dims};
}

/* All pieces for some panels. */
static void multiply(const fovea_nn_int8_row *row, int64_t out, int panels, float *sums) {
  const int64_t in = row->int8->linear->in, group = row->int8->header.group;
  for (int64_t dim = 0; dim < in; dim += FOVEA_DOT_PIECE) {
    const fovea_nn_row_products_args args = {.of = piece_of(row, dim, out),
                                             .panels = panels,
                                             .x = row->codes + dim,
                                             .x_sums = row->sums + (group > 0 ? dim / group : 0),
                                             .x_scale = row->scale,
                                             .begun = dim > 0,
                                             .ends = in - dim <= FOVEA_DOT_PIECE,
                                             .sums = sums};
    row->int8->codes->row(&args);
  }
}

void fovea_nn_run_int8_row(const fovea_nn_int8_row *row) {
  const fovea_nn_int8 *int8 = row->int8;
  const int64_t padded = fovea_nn_padded(int8->linear->out, FOVEA_NN_PANEL);
  const int64_t end = row->end < padded ? row->end : padded;
  _Alignas(64) float sums[ROW_OUTS];
  for (int64_t out = row->out; out < end; out += ROW_OUTS) {
    const int outs = end - out < ROW_OUTS ? (int)(end - out) : ROW_OUTS;
    multiply(row, out, outs / FOVEA_NN_PANEL, sums);
    for (int i = 0; i < outs; i += FOVEA_NN_OUTS) {
      const fovea_nn_done done = {sums + i, outs, 0,
                                  out + i,  1,    outs - i < FOVEA_NN_OUTS ? outs - i : FOVEA_NN_OUTS};
      fovea_nn_finish(int8->linear, int8->rows, int8->kernels, &done);
    }
  }
}
