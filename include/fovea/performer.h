/* Performer: attention approximated by random features (Choromanski et al., "Rethinking Attention with Performers",
 * 2021).
 *
 * Attention with the kernel exp(scale q.k) is approximated by attention with phi(q).phi(k), for features phi whose
 * mean over random projections is that kernel:
 *
 *   o_i = phi(q_i) . (sum_j phi(k_j) v_j^T) / (phi(q_i) . sum_j phi(k_j))
 *
 * The sums are taken once for all rows, so time grows with the length and not with its square. With m features, d
 * dims of q and k and d_v of v, a call takes O((q_len + kv_len) m (d + d_v)) time for each head, and O(m d_v)
 * memory. It is an approximation: the error of a row falls as m^(-1/2) over draws of the projection, and one draw
 * may be far from the softmax. A model is trained, or at least tuned, with it.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md, L15, states the arithmetic. */
#ifndef FOVEA_PERFORMER_H
#define FOVEA_PERFORMER_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Projections of random features ------------------------------------------------------------------------ */

/* The norms of the rows of a projection. */
typedef enum fovea_nn_feature_norms {
  /* The norms of Gaussian vectors, chi with `dim` degrees of freedom: features without bias. */
  FOVEA_NN_NORMS_GAUSSIAN = 0,
  /* sqrt(dim) for every row: a little less variance, and a bias that falls with dim. */
  FOVEA_NN_NORMS_CONSTANT = 1
} fovea_nn_feature_norms;

/* A random projection, the same bits on every machine. Rows come in blocks of `dim`. Row i depends on seed, stream,
 * dim and i alone: more features do not change the first ones. Prepare it with fovea_nn_random_features_init(). */
typedef struct fovea_nn_random_features {
  size_t struct_size;    /* set by fovea_nn_random_features_init() */
  int64_t features, dim; /* rows and columns of the projection; at least 1 */
  uint64_t seed;         /* any; default 0 */
  uint64_t stream; /* any; default 0. One for each layer, but no stream of fovea_nn_dropout() with this seed */
  /* 1 (default): the rows of a block are orthogonal, and each direction is uniform; 0: rows are independent. */
  int orthogonal;
  fovea_nn_feature_norms norms; /* default FOVEA_NN_NORMS_GAUSSIAN */
} fovea_nn_random_features;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_random_features_init(). */
FOVEA_NN_API void fovea_nn_random_features_init_sized(fovea_nn_random_features *random, size_t struct_size,
                                                      int64_t features, int64_t dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_random_features_init(fovea_nn_random_features *random, int64_t features, int64_t dim) {
  fovea_nn_random_features_init_sized(random, sizeof *random, features, dim);
}

/* Writes the projection (features, dim), contiguous. Takes O(features dim^2) time, once for a model: 256 rows of 64
 * take a few milliseconds. Blocks are shared out to threads.
 *
 * With `orthogonal` it needs scratch, from `execution` or else allocated by its allocator: dim^2 doubles for each
 * worker, or fewer if there are fewer rows. Without, scratch is refused. */
FOVEA_NN_API fovea_status fovea_nn_random_features_draw(const fovea_nn_random_features *random, float *projection,
                                                        const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does; 0 without `orthogonal`. */
FOVEA_NN_API fovea_status fovea_nn_random_features_scratch_size(const fovea_nn_random_features *random,
                                                                const fovea_execution *execution, size_t *size,
                                                                fovea_error *error);

/* ---- Features ---------------------------------------------------------------------------------------------- */

/* What the features stand for. With x' = x sqrt(scale) and the rows w of the projection: */
typedef enum fovea_nn_performer_kernel {
  /* exp(scale q.k), the softmax kernel: phi(x) = (exp(w.x' - |x'|^2 / 2 - c) + eps) / sqrt(features) */
  FOVEA_NN_PERFORMER_SOFTMAX = 0,
  /* The generalised kernel with ReLU: phi(x) = max(w.x', 0) + eps */
  FOVEA_NN_PERFORMER_RELU = 1
} fovea_nn_performer_kernel;

/* The stabiliser c of the softmax kernel, which keeps exp() from overflow and underflow. */
typedef enum fovea_nn_performer_stabiliser {
  FOVEA_NN_STABILISER_NONE = 0, /* c = 0: features depend on their own row alone */
  /* Of a query: the largest w.x' of the row. Of keys: the largest w.x' of all visible keys of the sequence and
   * head. This is what performer-pytorch has. A row then depends on every key, so it is refused with `causal`. */
  FOVEA_NN_STABILISER_MAX = 1
} fovea_nn_performer_stabiliser;

/* Performer attention. Prepare it with fovea_nn_performer_init(). */
typedef struct fovea_nn_performer {
  size_t struct_size;                       /* set by fovea_nn_performer_init() */
  fovea_nn_performer_kernel kernel;         /* what the features stand for */
  int64_t dim, features;                    /* d, of q and k, and m; at least 1 */
  const float *projection;                  /* (features, dim); finite numbers, which are not checked */
  int64_t projection_stride;                /* elements from row to row; default: dim */
  fovea_nn_performer_stabiliser stabiliser; /* default FOVEA_NN_STABILISER_NONE. With the softmax kernel only */
  double eps;   /* 0 or more, rounded to f32; default 1e-4 with the softmax kernel, 1e-3 with ReLU, as in
                   performer-pytorch. It keeps denominators from 0, and pulls rows whose features are small
                   towards the mean of the values. With 0 the softmax kernel has no bias */
  double scale; /* above 0; default FOVEA_DEFAULT_NUMBER: 1 / sqrt(dim), so that x' = x dim^(-1/4) */
  int causal;   /* 1: row i sees keys 0 to i, by a recurrence over positions; default 0 */
} fovea_nn_performer;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_performer_init(). */
FOVEA_NN_API void fovea_nn_performer_init_sized(fovea_nn_performer *performer, size_t struct_size,
                                                fovea_nn_performer_kernel kernel, int64_t dim, int64_t features,
                                                const float *projection);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_performer_init(fovea_nn_performer *performer, fovea_nn_performer_kernel kernel,
                                           int64_t dim, int64_t features, const float *projection) {
  fovea_nn_performer_init_sized(performer, sizeof *performer, kernel, dim, features, projection);
}

/* Rows whose features are wanted. */
typedef struct fovea_nn_performer_rows {
  size_t struct_size;                 /* set by fovea_nn_performer_rows_init() */
  int64_t batch, heads, rows;         /* batch and heads at least 1, rows at least 0 */
  const void *x;                      /* (batch, heads, rows, dim) */
  void *y;                            /* (batch, heads, rows, features), apart from x and the projection */
  fovea_type x_type, y_type;          /* default FOVEA_F32 */
  fovea_strides x_strides, y_strides; /* default: contiguous */
  int keys;            /* whose stabiliser: 0 (default): a query's, 1: the keys'. Only with a stabiliser */
  const int64_t *lens; /* `batch` numbers from 0 to rows: rows beyond get zeros, and count for no stabiliser. NULL
                          (default): all rows */
} fovea_nn_performer_rows;

/* Sets these fields, and the others to their defaults, as for `performer`. Callers in C use
 * fovea_nn_performer_rows_init(). */
FOVEA_NN_API void fovea_nn_performer_rows_init_sized(fovea_nn_performer_rows *rows, size_t struct_size,
                                                     const fovea_nn_performer *performer, int64_t batch,
                                                     int64_t heads, int64_t row_count, const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_performer_rows_init(fovea_nn_performer_rows *rows, const fovea_nn_performer *performer,
                                                int64_t batch, int64_t heads, int64_t row_count, const void *x,
                                                void *y) {
  fovea_nn_performer_rows_init_sized(rows, sizeof *rows, performer, batch, heads, row_count, x, y);
}

/* Writes the features of rows, which fovea_nn_performer_run() uses in f32 without writing them. Takes
 * O(rows features dim) time for each head.
 *
 * Needs scratch (fovea_nn_performer_features_scratch_size()), from `execution` or else allocated by
 * its allocator. */
FOVEA_NN_API fovea_status fovea_nn_performer_features(const fovea_nn_performer *performer,
                                                      const fovea_nn_performer_rows *rows,
                                                      const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_performer_features_scratch_size(const fovea_nn_performer *performer,
                                                                   const fovea_nn_performer_rows *rows,
                                                                   const fovea_execution *execution, size_t *size,
                                                                   fovea_error *error);

/* ---- Attention --------------------------------------------------------------------------------------------- */

/* The tensors of a call. Axes may have any order, by their strides. */
typedef struct fovea_nn_performer_tensors {
  size_t struct_size; /* set by fovea_nn_performer_tensors_init() */
  int64_t batch, heads, kv_heads, q_len, kv_len,
      v_dim;                                 /* kv_heads divides heads; lengths may be 0, the others not */
  const void *q;                             /* (batch, heads, q_len, dim) */
  const void *k;                             /* (batch, kv_heads, kv_len, dim) */
  const void *v;                             /* (batch, kv_heads, kv_len, v_dim) */
  void *o;                                   /* (batch, heads, q_len, v_dim), apart from all else */
  fovea_type q_type, k_type, v_type, o_type; /* default FOVEA_F32 */
  fovea_strides q_strides, k_strides, v_strides, o_strides; /* default: contiguous */

  const int64_t *kv_lens; /* `batch` numbers from 0 to kv_len: later keys are not visible, whatever their bytes
                             hold. NULL (default): all keys are visible */

  /* With `causal`: the sums of earlier positions; the call adds its own positions. The state goes from call to
   * call, and a sequence that is cut into calls anywhere, down to single positions, has the bits of one call. It
   * may be copied: both copies go on. (batch, kv_heads, fovea_nn_performer_state_numbers()), contiguous: the sums
   * (features, v_dim) of a head, row by row, then its `features` sums of phi(k). All zeros, by memset(), before
   * the first position. NULL (default): zeros, and dropped at the end. */
  float *state;
} fovea_nn_performer_tensors;

/* Sets these fields, and the others to their defaults, as for `performer`. Callers in C use
 * fovea_nn_performer_tensors_init(). */
FOVEA_NN_API void fovea_nn_performer_tensors_init_sized(fovea_nn_performer_tensors *tensors, size_t struct_size,
                                                        const fovea_nn_performer *performer, int64_t batch,
                                                        int64_t heads, int64_t kv_heads, int64_t q_len,
                                                        int64_t kv_len, int64_t v_dim, const void *q, const void *k,
                                                        const void *v, void *o);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_performer_tensors_init(fovea_nn_performer_tensors *tensors,
                                                   const fovea_nn_performer *performer, int64_t batch,
                                                   int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len,
                                                   int64_t v_dim, const void *q, const void *k, const void *v,
                                                   void *o) {
  fovea_nn_performer_tensors_init_sized(tensors, sizeof *tensors, performer, batch, heads, kv_heads, q_len, kv_len,
                                        v_dim, q, k, v, o);
}

/* Returns the floats of a state of one head, features * (v_dim + 1); 0 if a size is below 1, or if the result
 * would exceed 2^57. */
FOVEA_NN_API int64_t fovea_nn_performer_state_numbers(int64_t features, int64_t v_dim);

/* Computes o. Not causal, every row sees all keys. With `causal`, q_len equals kv_len (FOVEA_ERROR_ARGUMENT if
 * not), and row i sees keys 0 to i and the keys in the state. A row is zeros if its denominator is below 2^-126:
 * if it sees no key, or if all its features are 0, which an eps of 0 allows. NaN and infinities in a visible key
 * or value reach all rows that see it. Without `causal`, sums keep their accuracy at any length (docs/numerics.md,
 * L15); a state is one running sum of f32, whose error grows with the positions.
 *
 * Needs scratch (fovea_nn_performer_scratch_size()), from `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_performer_run(const fovea_nn_performer *performer,
                                                 const fovea_nn_performer_tensors *tensors,
                                                 const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_performer_scratch_size(const fovea_nn_performer *performer,
                                                          const fovea_nn_performer_tensors *tensors,
                                                          const fovea_execution *execution, size_t *size,
                                                          fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
