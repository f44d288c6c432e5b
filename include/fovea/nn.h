/* fovea_nn: layers around attention, with one answer.
 *
 * A second, optional library. It multiplies by weights, normalises rows and composes layers, with the structs,
 * statuses, error texts, threads and rules of fovea.h: sizes and strides count elements; nothing is allocated,
 * printed or read beyond the elements that a call names; what is set and would not be used is refused. The same
 * inputs give the same bits on every instruction set, for any number of threads and any number of rows: a row alone
 * has the bits that it has in a batch. docs/numerics.md, part "Layers", states the arithmetic.
 *
 * Unless it says otherwise, a function runs as row-wise calls do (fovea_execution): threads and parallel_for are
 * used, scratch is refused, `execution` and `error` may be NULL. A call that fails has written nothing. Calls may
 * run at the same time if no two of them write the same output. */
#ifndef FOVEA_NN_H
#define FOVEA_NN_H

#include "fovea.h"

#if defined(_WIN32) && defined(FOVEA_NN_SHARED)
#if defined(FOVEA_NN_BUILDING)
#define FOVEA_NN_API __declspec(dllexport)
#else
#define FOVEA_NN_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define FOVEA_NN_API __attribute__((visibility("default")))
#else
#define FOVEA_NN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Linear layers ------------------------------------------------------------------------------------------ */

/* What is applied to each output. Errors are at most 2 units in the last place of the result (docs/numerics.md,
 * L2). */
typedef enum fovea_nn_activation {
  FOVEA_NN_LINEAR = 0,    /* nothing */
  FOVEA_NN_RELU = 1,      /* max(x, 0) */
  FOVEA_NN_GELU = 2,      /* x Phi(x) = x (1 + erf(x / sqrt(2))) / 2 (Hendrycks & Gimpel, 2016) */
  FOVEA_NN_GELU_TANH = 3, /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, its approximation */
  FOVEA_NN_SILU = 4       /* x / (1 + e^-x), also called Swish */
} fovea_nn_activation;

/* How weights lie. PANELS: panels of FOVEA_PANEL_ROWS outputs each, as K panels of a cache hold keys
 * (fovea_key_layout): dim by dim, the 16 outputs side by side, of bf16 two dims of each. fovea_nn_pack() makes
 * them. */
typedef enum fovea_nn_layout { FOVEA_NN_WEIGHTS_IN_ROWS = 0, FOVEA_NN_WEIGHTS_IN_PANELS = 1 } fovea_nn_layout;

/* A linear layer y = act(x W^T + b) * gate + residual. W is (out, in), as PyTorch's nn.Linear stores it. */
typedef struct fovea_nn_linear {
  size_t struct_size; /* set by fovea_nn_linear_init() */
  int64_t in, out;    /* at least 1 */
  const void *weights;
  fovea_type weight_type; /* default FOVEA_F32 */
  fovea_nn_layout layout; /* default FOVEA_NN_WEIGHTS_IN_ROWS */
  int64_t weight_stride; /* elements from row to row of W; default: in. With panels: 0, since they are contiguous */
  const float *bias;     /* `out` numbers; NULL (default): none */
  fovea_nn_activation activation; /* default FOVEA_NN_LINEAR */
  const char *isa;                /* as in fovea_problem */
} fovea_nn_linear;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_linear_init(). */
FOVEA_NN_API void fovea_nn_linear_init_sized(fovea_nn_linear *linear, size_t struct_size, int64_t in, int64_t out,
                                             const void *weights);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_linear_init(fovea_nn_linear *linear, int64_t in, int64_t out, const void *weights) {
  fovea_nn_linear_init_sized(linear, sizeof *linear, in, out, weights);
}

/* The rows that go through a linear layer. */
typedef struct fovea_nn_linear_rows {
  size_t struct_size;         /* set by fovea_nn_linear_rows_init() */
  int64_t rows;               /* at least 0 */
  const void *x;              /* (rows, in) */
  void *y;                    /* (rows, out), apart from x, weights and bias */
  fovea_type x_type, y_type;  /* default FOVEA_F32 */
  int64_t x_stride, y_stride; /* elements from row to row; default: in, out */

  /* (rows, out) numbers that the activated outputs are multiplied by: SwiGLU is a layer with SiLU, gated by another
   * layer's outputs. NULL (default): none. gate_type and gate_stride are used with it. It may be y itself. */
  const void *gate;
  fovea_type gate_type; /* default FOVEA_F32 */
  int64_t gate_stride;  /* default: out */

  /* (rows, out) numbers that are added at last. NULL (default): none. It may be y itself. */
  const void *residual;
  fovea_type residual_type; /* default FOVEA_F32 */
  int64_t residual_stride;  /* default: out */
} fovea_nn_linear_rows;

/* Sets these fields, and the others to their defaults, as for a layer of `in` and `out`. Callers in C use
 * fovea_nn_linear_rows_init(). */
FOVEA_NN_API void fovea_nn_linear_rows_init_sized(fovea_nn_linear_rows *rows, size_t struct_size,
                                                  const fovea_nn_linear *linear, int64_t row_count, const void *x,
                                                  void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_linear_rows_init(fovea_nn_linear_rows *rows, const fovea_nn_linear *linear,
                                             int64_t row_count, const void *x, void *y) {
  fovea_nn_linear_rows_init_sized(rows, sizeof *rows, linear, row_count, x, y);
}

/* Computes the rows. Each step after the dot product (bias, activation, gate, residual) rounds once, in f32, and
 * the last result is rounded to y's type: a layer with all of them has the bits of the same steps one by one. */
FOVEA_NN_API fovea_status fovea_nn_linear_run(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                              const fovea_execution *execution, fovea_error *error);

/* Returns the elements of the panels of a layer's weights. 0 if a size is below 1, or if that are more than 2^57.
 */
FOVEA_NN_API int64_t fovea_nn_panel_elements(int64_t in, int64_t out, fovea_type type);

/* Writes the weights of a layer (in rows) into panels, without changing a bit. Outputs and dims that do not exist
 * become zeros. */
FOVEA_NN_API fovea_status fovea_nn_pack(const fovea_nn_linear *linear, void *panels,
                                        const fovea_execution *execution, fovea_error *error);

/* ---- Functions of rows -------------------------------------------------------------------------------------- */

/* Rows that a function maps to rows: y = f(x). */
typedef struct fovea_nn_map {
  size_t struct_size;         /* set by fovea_nn_map_init() */
  int64_t rows, dim;          /* at least 0; at least 1 */
  const void *x;              /* (rows, dim) */
  void *y;                    /* (rows, dim), apart from x, or x itself */
  fovea_type x_type, y_type;  /* default FOVEA_F32 */
  int64_t x_stride, y_stride; /* elements from row to row; default: dim */
  const char *isa;            /* as in fovea_problem */
} fovea_nn_map;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_map_init(). */
FOVEA_NN_API void fovea_nn_map_init_sized(fovea_nn_map *map, size_t struct_size, int64_t rows, int64_t dim,
                                          const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_map_init(fovea_nn_map *map, int64_t rows, int64_t dim, const void *x, void *y) {
  fovea_nn_map_init_sized(map, sizeof *map, rows, dim, x, y);
}

/* Applies an activation to each number: the same as after a linear layer. FOVEA_NN_LINEAR converts types. */
FOVEA_NN_API fovea_status fovea_nn_activate(const fovea_nn_map *map, fovea_nn_activation activation,
                                            const fovea_execution *execution, fovea_error *error);

/* Softmax of each row: e^(x - max) over the sum of these, in natural units (docs/numerics.md, L4). A row of -Inf
 * only gives zeros; a row with NaN or +Inf gives NaN. */
FOVEA_NN_API fovea_status fovea_nn_softmax(const fovea_nn_map *map, const fovea_execution *execution,
                                           fovea_error *error);

/* ---- Norms -------------------------------------------------------------------------------------------------- */

typedef enum fovea_nn_norm_kind {
  FOVEA_NN_LAYER_NORM = 0, /* (x - mean) / sqrt(variance + eps) * gamma + beta (Ba et al., 2016) */
  FOVEA_NN_RMS_NORM = 1    /* x / sqrt(mean of x^2 + eps) * gamma (Zhang & Sennrich, 2019) */
} fovea_nn_norm_kind;

/* How rows are normalised. */
typedef struct fovea_nn_norm {
  size_t struct_size; /* set by fovea_nn_norm_init() */
  int64_t dim;        /* at least 1 */
  fovea_nn_norm_kind kind;
  double eps;         /* default 1e-5. Not negative; rounded to f32 once. Else: FOVEA_ERROR_SCALE */
  const float *gamma; /* `dim` numbers; NULL (default): none */
  const float *beta;  /* `dim` numbers; NULL (default): none, as an RMS norm must have */
  const char *isa;    /* as in fovea_problem */
} fovea_nn_norm;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_norm_init(). */
FOVEA_NN_API void fovea_nn_norm_init_sized(fovea_nn_norm *norm, size_t struct_size, fovea_nn_norm_kind kind,
                                           int64_t dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_norm_init(fovea_nn_norm *norm, fovea_nn_norm_kind kind, int64_t dim) {
  fovea_nn_norm_init_sized(norm, sizeof *norm, kind, dim);
}

/* The rows that are normalised. y and sum are apart from each other, and from all else; but each may be x itself,
 * or residual itself. */
typedef struct fovea_nn_norm_rows {
  size_t struct_size;         /* set by fovea_nn_norm_rows_init() */
  int64_t rows;               /* at least 0 */
  const void *x;              /* (rows, dim) */
  void *y;                    /* (rows, dim) */
  fovea_type x_type, y_type;  /* default FOVEA_F32 */
  int64_t x_stride, y_stride; /* elements from row to row; default: dim */

  /* (rows, dim) numbers that are added to x first. NULL (default): none. */
  const void *residual;
  fovea_type residual_type; /* default FOVEA_F32 */
  int64_t residual_stride;  /* default: dim */

  /* Where x + residual is written, rounded to sum_type; the norm takes it in f32. NULL (default): nowhere. Used
   * with residual. */
  void *sum;
  fovea_type sum_type; /* default FOVEA_F32 */
  int64_t sum_stride;  /* default: dim */
} fovea_nn_norm_rows;

/* Sets these fields, and the others to their defaults, as for a norm of `dim`. Callers in C use
 * fovea_nn_norm_rows_init(). */
FOVEA_NN_API void fovea_nn_norm_rows_init_sized(fovea_nn_norm_rows *rows, size_t struct_size,
                                                const fovea_nn_norm *norm, int64_t row_count, const void *x,
                                                void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_norm_rows_init(fovea_nn_norm_rows *rows, const fovea_nn_norm *norm, int64_t row_count,
                                           const void *x, void *y) {
  fovea_nn_norm_rows_init_sized(rows, sizeof *rows, norm, row_count, x, y);
}

/* Normalises the rows (docs/numerics.md, L3). */
FOVEA_NN_API fovea_status fovea_nn_norm_run(const fovea_nn_norm *norm, const fovea_nn_norm_rows *rows,
                                            const fovea_execution *execution, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
