/* Attention of recurrent networks: additive attention, and the cells around it. */
#ifndef FOVEA_RECURRENT_H
#define FOVEA_RECURRENT_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What additive attention applies to the sum of a query and a key. */
typedef enum fovea_nn_additive_activation {
  FOVEA_NN_ADDITIVE_ACTIVATION_TANH = 0,      /* tanh(x) */
  FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU = 1 /* x where x is above 0, else leaky_slope * x */
} fovea_nn_additive_activation;

/* Additive attention (Bahdanau et al., 2015): a decoder's queries attend over an encoder's keys and values with the
 * scores w . tanh(Wq q + Wk k + b), and each query gets a context vector, the values weighted by the softmax of its
 * scores. A query may be one step of a recurrent decoder, or all steps are computed at once.
 *
 * The scores of Luong et al. (2015): `dot` is fovea_attend() with a scale of 1; `general`, q W k, is the same with
 * queries (or, once for all steps, keys) that went through a linear layer; `concat`, w . tanh(W [q; k]), is
 * additive attention whose query layer and key layer are the columns of W for q and for k, of weight_stride q_dim +
 * k_dim.
 *
 * A head of graph attention (Brody et al., GATv2, 2022) has the scores w . LeakyReLU(Wr h_i + Wl h_j) and the
 * values Wl h_j: queries of Wr, keys of Wl, LEAKY_RELU, and the edges of the graph in the tensors.
 *
 * Prepare it with fovea_nn_additive_init(). */
typedef struct fovea_nn_additive {
  size_t struct_size; /* set by fovea_nn_additive_init() */
  int64_t dim;        /* numbers of a projected query, a projected key and w; at least 1 */
  const float *w;
  /* Wq with the bias b, and Wk: any linear layers with `dim` outputs. NULL (default): queries (keys) are projected
   * already, in f32. Project keys once for all steps of a decoder. */
  const fovea_nn_linear *query, *key;
  fovea_nn_additive_activation activation; /* default FOVEA_NN_ADDITIVE_ACTIVATION_TANH */
  double leaky_slope;                      /* with LEAKY_RELU: from 0 (default) to below 1; GATv2 has 0.2 */
} fovea_nn_additive;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_additive_init(). */
FOVEA_NN_API void fovea_nn_additive_init_sized(fovea_nn_additive *additive, size_t struct_size, int64_t dim,
                                               const float *w);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_additive_init(fovea_nn_additive *additive, int64_t dim, const float *w) {
  fovea_nn_additive_init_sized(additive, sizeof *additive, dim, w);
}

/* The tensors of additive attention. There are no heads: `head` of all strides is not used, and is 0. The batch and
 * row axes may have any order, so (length, batch, dim) tensors are described by their strides. */
typedef struct fovea_nn_additive_tensors {
  size_t struct_size;                  /* set by fovea_nn_additive_tensors_init() */
  int64_t batch, q_len, kv_len, v_dim; /* batch and v_dim at least 1, the others at least 0 */
  const void *q;                       /* (batch, q_len, query->in), without a layer (batch, q_len, dim) */
  const void *k;                       /* (batch, kv_len, key->in), without a layer (batch, kv_len, dim) */
  const void *v;                       /* (batch, kv_len, v_dim) */
  void *o;                             /* (batch, q_len, v_dim): context vectors, apart from all other tensors */
  fovea_type q_type, k_type, v_type, o_type;                /* default FOVEA_F32 */
  fovea_strides q_strides, k_strides, v_strides, o_strides; /* default: contiguous */

  /* (batch, q_len, kv_len) weights of the keys, 0 for keys that are not visible. NULL (default): not wanted.
   * weight_strides are used with it. */
  float *weights;
  fovea_strides weight_strides; /* default: contiguous */

  const int64_t *kv_lens; /* `batch` numbers from 0 to kv_len: later keys are not visible. NULL (default): kv_len */

  /* Which keys a row sees, with the types and strides of fovea_problem: FOVEA_MASK_BOOL or FOVEA_MASK_BITS. NULL
   * (default): all. A row that sees no key gets zeros, as o and as weights. */
  const void *mask;
  fovea_mask_type mask_type;       /* default FOVEA_MASK_NONE */
  fovea_mask_strides mask_strides; /* default: contiguous bytes; see fovea_mask_layout() */

  /* A graph as a CSR matrix, the same for all batch elements: row i sees only the keys edge_keys[edge_starts[i]]
   * to edge_keys[edge_starts[i + 1] - 1], in any order; a key that is named twice counts once, -1 names no key.
   * edge_starts has q_len + 1 numbers that do not decrease. Has the bits of a mask of the same meaning, and takes
   * time and scratch for the edges only; kv_lens and a mask take keys away, too. NULL (default): none. */
  const int64_t *edge_starts, *edge_keys;
} fovea_nn_additive_tensors;

/* Sets these fields, and the others to their defaults, with the strides of what `additive` takes. Callers in C use
 * fovea_nn_additive_tensors_init(). */
FOVEA_NN_API void fovea_nn_additive_tensors_init_sized(fovea_nn_additive_tensors *tensors, size_t struct_size,
                                                       const fovea_nn_additive *additive, int64_t batch,
                                                       int64_t q_len, int64_t kv_len, int64_t v_dim, const void *q,
                                                       const void *k, const void *v, void *o);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_additive_tensors_init(fovea_nn_additive_tensors *tensors,
                                                  const fovea_nn_additive *additive, int64_t batch, int64_t q_len,
                                                  int64_t kv_len, int64_t v_dim, const void *q, const void *k,
                                                  const void *v, void *o) {
  fovea_nn_additive_tensors_init_sized(tensors, sizeof *tensors, additive, batch, q_len, kv_len, v_dim, q, k, v, o);
}

/* Computes context vectors, and weights if they are wanted. From the scores on, o has the bits of fovea_attend(). A
 * context vector does not depend on the other rows, nor on whether weights are wanted. No tensor of q_len * kv_len
 * * dim numbers is made.
 *
 * Needs scratch (fovea_nn_additive_scratch_size()), from `execution` or else allocated by its allocator: for
 * what is projected, and for the scores of some rows. */
FOVEA_NN_API fovea_status fovea_nn_additive_run(const fovea_nn_additive *additive,
                                                const fovea_nn_additive_tensors *tensors,
                                                const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_additive_scratch_size(const fovea_nn_additive *additive,
                                                         const fovea_nn_additive_tensors *tensors,
                                                         const fovea_execution *execution, size_t *size,
                                                         fovea_error *error);

/* A cell of a recurrent network with `hidden->in` numbers of state, H, and weights as PyTorch's GRUCell and
 * LSTMCell store them: weight_ih (3 H, in) of a GRU, (4 H, in) of an LSTM, in the order of gates r, z, n and i, f,
 * g, o; weight_hh with H inputs; and a bias of each. Prepare it with fovea_nn_cell_init(). */
typedef struct fovea_nn_cell {
  size_t struct_size;           /* set by fovea_nn_cell_init() */
  const fovea_nn_linear *input; /* NULL: the input was projected already, for all steps at once */
  const fovea_nn_linear *hidden;
} fovea_nn_cell;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_cell_init(). */
FOVEA_NN_API void fovea_nn_cell_init_sized(fovea_nn_cell *cell, size_t struct_size, const fovea_nn_linear *input,
                                           const fovea_nn_linear *hidden);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_cell_init(fovea_nn_cell *cell, const fovea_nn_linear *input,
                                      const fovea_nn_linear *hidden) {
  fovea_nn_cell_init_sized(cell, sizeof *cell, input, hidden);
}

/* One step of a cell for a batch of rows. Strides count elements from row to row. */
typedef struct fovea_nn_cell_rows {
  size_t struct_size;                   /* set by fovea_nn_cell_rows_init() */
  int64_t rows;                         /* at least 0 */
  const void *x;                        /* (rows, input->in), or without `input` (rows, hidden->out) */
  const void *h;                        /* (rows, H): the old state */
  void *y;                              /* (rows, H): the new state; it may be h itself */
  fovea_type x_type, h_type, y_type;    /* default FOVEA_F32 */
  int64_t x_stride, h_stride, y_stride; /* default: contiguous rows */

  /* The cell state of an LSTM, which needs both; a GRU has none. NULL (default): none. Types and strides are
   * used with them. */
  const void *c;                  /* (rows, H): the old one */
  void *new_c;                    /* (rows, H): the new one; it may be c itself */
  fovea_type c_type, new_c_type;  /* default FOVEA_F32 */
  int64_t c_stride, new_c_stride; /* default: contiguous rows */
} fovea_nn_cell_rows;

/* Sets these fields, and the others to their defaults, as for `cell`. Callers in C use
 * fovea_nn_cell_rows_init(). */
FOVEA_NN_API void fovea_nn_cell_rows_init_sized(fovea_nn_cell_rows *rows, size_t struct_size,
                                                const fovea_nn_cell *cell, int64_t row_count, const void *x,
                                                const void *h, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_cell_rows_init(fovea_nn_cell_rows *rows, const fovea_nn_cell *cell, int64_t row_count,
                                           const void *x, const void *h, void *y) {
  fovea_nn_cell_rows_init_sized(rows, sizeof *rows, cell, row_count, x, h, y);
}

/* A step of a gated recurrent unit (Cho et al., 2014, in PyTorch's form): with I = input(x) and J = hidden(h), gate
 * by gate, r = sigmoid(Ir + Jr), z = sigmoid(Iz + Jz), n = tanh(In + r Jn) and y = (1 - z) n + z h.
 *
 * Both steps need scratch (fovea_nn_cell_scratch_size()), from `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_gru(const fovea_nn_cell *cell, const fovea_nn_cell_rows *rows,
                                       const fovea_execution *execution, fovea_error *error);

/* A step of long short-term memory (Hochreiter & Schmidhuber, 1997, with the forget gate of Gers et al., 2000): i,
 * f and o are sigmoid(I + J), g = tanh(Ig + Jg), new_c = f c + i g and y = o tanh(new_c). */
FOVEA_NN_API fovea_status fovea_nn_lstm(const fovea_nn_cell *cell, const fovea_nn_cell_rows *rows,
                                        const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch of a step of `rows` rows, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_cell_scratch_size(const fovea_nn_cell *cell, int64_t rows,
                                                     const fovea_execution *execution, size_t *size,
                                                     fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
