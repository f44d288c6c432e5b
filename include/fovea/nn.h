/* fovea_nn: layers around attention, with one answer.
 *
 * A second, optional library. It multiplies by weights, normalises rows and composes layers, with the structs,
 * statuses, error texts, threads and rules of fovea.h: sizes and strides count elements; nothing is allocated,
 * printed or read beyond the elements that a call names; what is set and would not be used is refused. Strides are
 * FOVEA_CONTIGUOUS by default, which the comments name by the size that it stands for. The same
 * inputs give the same bits on every instruction set, for any number of threads and any number of rows: a row alone
 * has the bits that it has in a batch. docs/numerics.md, part "Layers", states the arithmetic.
 *
 * Unless it says otherwise, a function runs as row-wise calls do (fovea_execution): threads, parallel_for and isa are
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
  FOVEA_NN_SILU = 4,      /* x / (1 + e^-x), also called Swish */
  FOVEA_NN_ELU = 5        /* x where x is above 0, else e^x - 1 (Clevert et al., 2016) */
} fovea_nn_activation;

/* How weights lie. FOVEA_NN_WEIGHTS_IN_ROWS: row by row of W. FOVEA_NN_WEIGHTS_IN_PANELS: panels of
 * FOVEA_PANEL_ROWS outputs each, as K panels of a cache hold keys (fovea_key_layout): dim by dim, the 16 outputs
 * side by side, of bf16 two dims of each. fovea_nn_pack() makes them. */
typedef enum fovea_nn_layout { FOVEA_NN_WEIGHTS_IN_ROWS = 0, FOVEA_NN_WEIGHTS_IN_PANELS = 1 } fovea_nn_layout;

/* A linear layer y = act(x W^T + b) * gate + residual. W is (out, in), as PyTorch's nn.Linear stores it. */
typedef struct fovea_nn_linear {
  size_t struct_size;     /* set by fovea_nn_linear_init() */
  int64_t in, out;        /* at least 1 */
  const void *weights;    /* (out, in), or the panels of that matrix */
  fovea_type weight_type; /* default FOVEA_F32 */
  fovea_nn_layout layout; /* default FOVEA_NN_WEIGHTS_IN_ROWS */
  int64_t weight_stride;  /* elements from row to row of W; default: FOVEA_CONTIGUOUS, `in`. Of panels: the default,
                             or 0 */
  const float *bias;      /* `out` numbers; NULL (default): none */
  fovea_nn_activation activation; /* default FOVEA_NN_LINEAR */
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

/* What a norm does to the numbers of a row. */
typedef enum fovea_nn_norm_kind {
  FOVEA_NN_LAYER_NORM = 0, /* (x - mean) / sqrt(variance + eps) * gamma + beta (Ba et al., 2016) */
  FOVEA_NN_RMS_NORM = 1    /* x / sqrt(mean of x^2 + eps) * gamma (Zhang & Sennrich, 2019) */
} fovea_nn_norm_kind;

/* How rows are normalised. */
typedef struct fovea_nn_norm {
  size_t struct_size;      /* set by fovea_nn_norm_init() */
  int64_t dim;             /* at least 1 */
  fovea_nn_norm_kind kind; /* LAYER_NORM or RMS_NORM */
  double eps;              /* default 1e-5. Not negative; rounded to f32 once. Else: FOVEA_ERROR_ARGUMENT */
  const float *gamma;      /* `dim` numbers; NULL (default): none */
  const float *beta;       /* `dim` numbers; NULL (default): none, as an RMS norm must have */
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

/* ---- Multi-head attention ------------------------------------------------------------------------------------ */

/* Multi-head attention (Vaswani et al., 2017): heads of Q = query(x), K = key(memory) and V = value(memory), side
 * by side in their rows, attend as a fovea_problem says; their outputs, side by side, go through `output`. Each
 * layer is any linear layer: with `heads`, `kv_heads`, `qk_dim` and `v_dim` of the problem, query has heads *
 * qk_dim outputs, key kv_heads * qk_dim, value kv_heads * v_dim, and output takes heads * v_dim. PyTorch's
 * in_proj_weight (3 E, E) is three layers, whose weights begin E rows apart. Prepare it with
 * fovea_nn_attention_init(). */
typedef struct fovea_nn_attention {
  size_t struct_size; /* set by fovea_nn_attention_init() */
  const fovea_nn_linear *query, *output;
  /* Both, or with a segmented problem neither: the caches then hold all keys and values already, as in
   * cross-attention, and nothing is appended. */
  const fovea_nn_linear *key, *value;
  const fovea_rotary *rotary; /* rotates queries and keys for their positions; NULL (default): none */

  /* One more key and value of each entry, which no mask hides: kv_heads * qk_dim and kv_heads * v_dim numbers,
   * PyTorch's bias_k and bias_v. NULL (default): none. The key is at position 0, before all others. Not with
   * caches, packed keys, windows, chunks, patterns, rotary, position terms, Shaw's vectors, kv_lens, offsets,
   * mask_begin, or causal rows before all keys. */
  const float *bias_key, *bias_value;

  /* 1: the scores that the problem's score_output wants are averaged over heads, as PyTorch returns weights. Then
   * score_heads, score_rows and score_keys have their defaults. Default 0: each head has its own. */
  int average_scores;

  /* What features of the problem take, with the shapes of fovea_tensors. Each is needed if the problem has the
   * feature, else NULL (default). They lie here, and not in the tensors, so that each layer of a stack has its own;
   * layers may share them. */
  const float *const *terms;                         /* numbers of position terms: ALiBi's slopes, T5's table */
  const double *head_scales;                         /* scales per head */
  const float *shaw_keys, *shaw_values;              /* relative position representations */
  const float *key_centre, *key_scale, *value_scale; /* vectors of int8 mode, for the projected keys and values */
} fovea_nn_attention;

/* Sets the layers. Callers in C use fovea_nn_attention_init(). */
FOVEA_NN_API void fovea_nn_attention_init_sized(fovea_nn_attention *attention, size_t struct_size,
                                                const fovea_nn_linear *query, const fovea_nn_linear *key,
                                                const fovea_nn_linear *value, const fovea_nn_linear *output);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_attention_init(fovea_nn_attention *attention, const fovea_nn_linear *query,
                                           const fovea_nn_linear *key, const fovea_nn_linear *value,
                                           const fovea_nn_linear *output) {
  fovea_nn_attention_init_sized(attention, sizeof *attention, query, key, value, output);
}

/* The tensors of multi-head attention. x and y have a row for each of batch * q_len positions, memory a row for
 * each of batch * kv_len: entry by entry, or, with `rows_first`, position by position, as (length, batch, dim)
 * tensors lie. Of packed batches, q_len and kv_len rows in all. */
typedef struct fovea_nn_attention_tensors {
  size_t struct_size;        /* set by fovea_nn_attention_tensors_init() */
  const void *x;             /* (rows, query->in) */
  const void *memory;        /* (memory rows, key->in); NULL (default): x, self-attention */
  const void *memory_values; /* (memory rows, value->in); NULL (default): memory */
  void *y;                   /* (rows, output->out). It may be x: all inputs are read before it is written */
  const void *residual;      /* (rows, output->out), added to y; NULL (default): none. It may be x, or y itself */
  fovea_type x_type, memory_type, memory_values_type, y_type, residual_type; /* default FOVEA_F32 */
  /* Elements from row to row. Default FOVEA_CONTIGUOUS. */
  int64_t x_stride, memory_stride, memory_values_stride, y_stride, residual_stride;
  int rows_first; /* 1: row i of entry b is row i * batch + b. Default 0: row b * q_len + i (kv_len) */

  const void *mask;   /* as in fovea_tensors */
  const float *sinks; /* as in fovea_tensors */

  /* With a segmented problem: caches that new keys and values are appended to, and that are then attended over. The
   * memory has q_len rows for each entry (self-attention), which go to positions first_position + i, or
   * first_positions[b] + i. */
  const fovea_sequence *sequences;
  int64_t layer; /* of the segments; default 0 */
  /* Positions of the rows, for rotary embedding and caches. Without caches, keys are at positions 0, 1, ... (or
   * memory_positions) if there is a memory, else at those of the rows. Default 0 and NULL; at most one is set. */
  int64_t first_position;
  const int64_t *first_positions;

  /* Where rows, and keys made of them, are rotated to, if these are not their positions: drafts of a tree, rows
   * after left padding, rows of M-RoPE. batch * q_len numbers for each axis of the rotary embedding, number b *
   * q_len + i for row i of entry b, also with rows_first; packed, one for each row. Needs a rotary embedding; of a
   * stack, in one of its layers. Default NULL: the positions of the rows. */
  const int64_t *rotary_positions;
  /* The same for keys of a memory: batch * kv_len numbers for each axis, number b * kv_len + i for row i of entry
   * b; packed, one for each row. Needs a memory, which of an encoder-decoder may be the source, and a rotary
   * embedding. fovea_nn_encoder_decoder_prepare() takes it, too. Default NULL: 0, 1, ... */
  const int64_t *memory_positions;

  /* What the problem's score_output wants, (batch, heads, q_len, kv_len) numbers at score_strides of the problem,
   * apart from all else: a row for each of batch, heads and q_len also with rows_first. With average_scores the
   * head axis is missing, and FOVEA_CONTIGUOUS is meant without it. With bias_key a row has one more number, the
   * first, and key positions of all outputs count from the bias. NULL (default) without score_output. */
  float *scores;

  const double *row_scales; /* as in fovea_tensors; (batch, q_len) also with rows_first */
  /* Further outputs, as in fovea_tensors, each apart from all else; (batch, heads, q_len) also with rows_first.
   * NULL (default) if the problem does not want them. */
  float *lse, *max_logits;
  int32_t *top_keys;
  float *top_scores, *entropy, *column_sums;
} fovea_nn_attention_tensors;

/* Sets x and y, and the others to their defaults. Callers in C use fovea_nn_attention_tensors_init(). */
FOVEA_NN_API void fovea_nn_attention_tensors_init_sized(fovea_nn_attention_tensors *tensors, size_t struct_size,
                                                        const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_attention_tensors_init(fovea_nn_attention_tensors *tensors, const void *x, void *y) {
  fovea_nn_attention_tensors_init_sized(tensors, sizeof *tensors, x, y);
}

/* Computes a layer of attention. It uses all of the problem but types and strides of Q, K, V and O, which are its
 * own (f32, in scratch), and to_state: these must have their defaults. A padding mask is q_lens and kv_lens
 * (padding after the rows), kv_begins (in front of them), or a boolean mask with stride 0 along heads and rows;
 * PyTorch's add_zero_attn is FOVEA_SINK_ZERO. The bits are those of the same steps by single calls, with f32
 * between.
 *
 * Needs scratch (fovea_nn_attention_scratch_size()), from `execution` or else allocated once by its
 * allocator. A call that fails has written neither y nor scores nor a cache. */
FOVEA_NN_API fovea_status fovea_nn_attention_run(const fovea_nn_attention *attention, const fovea_problem *problem,
                                                 const fovea_nn_attention_tensors *tensors,
                                                 const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch that a run needs with this execution: its threads and its isa; 0: none. Scratch
 * of the execution is not used. If the layer or the problem is refused, it returns the error, and *size is 0. All
 * *_scratch_size() of fovea_nn are so: a size of 0 with FOVEA_OK is no refusal. */
FOVEA_NN_API fovea_status fovea_nn_attention_scratch_size(const fovea_nn_attention *attention,
                                                          const fovea_problem *problem,
                                                          const fovea_execution *execution, size_t *size,
                                                          fovea_error *error);

/* ---- Encoder and decoder layers ------------------------------------------------------------------------------ */

/* A layer of a transformer (Vaswani et al., 2017): self-attention, in a decoder also cross-attention, and a
 * feed-forward network, each with a residual and a norm:
 *
 *   post-norm (default)   x = norm(x + f(x))     f is attention, cross-attention, down(up(x)) in turn
 *   norm_first            x = x + f(norm(x))
 *
 * With `gate` the network is down(up(x) * gate(x)): for SwiGLU `up` has the activation. All layers have as many
 * inputs and outputs as x has dims, but for `up` and `gate`, whose outputs `down` takes. */
typedef struct fovea_nn_block {
  size_t struct_size;              /* set by fovea_nn_block_init() */
  const fovea_nn_attention *self;  /* among the rows of x */
  const fovea_nn_attention *cross; /* NULL (default): an encoder layer, or a decoder without an encoder */
  const fovea_nn_linear *up, *down;
  const fovea_nn_linear *gate;                /* NULL (default): none */
  const fovea_nn_norm *self_norm, *feed_norm; /* of self-attention and of the network */
  const fovea_nn_norm *cross_norm;            /* with `cross`, else NULL (default) */
  int norm_first;                             /* 0 (default) or 1 */
} fovea_nn_block;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_block_init(). */
FOVEA_NN_API void fovea_nn_block_init_sized(fovea_nn_block *block, size_t struct_size,
                                            const fovea_nn_attention *self, const fovea_nn_norm *self_norm,
                                            const fovea_nn_linear *up, const fovea_nn_linear *down,
                                            const fovea_nn_norm *feed_norm);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_block_init(fovea_nn_block *block, const fovea_nn_attention *self,
                                       const fovea_nn_norm *self_norm, const fovea_nn_linear *up,
                                       const fovea_nn_linear *down, const fovea_nn_norm *feed_norm) {
  fovea_nn_block_init_sized(block, sizeof *block, self, self_norm, up, down, feed_norm);
}

/* What a layer attends over: a problem, and tensors without x, y and residual, which are the layer's own. For
 * cross-attention the tensors name the memory, unless the problem is segmented: else FOVEA_ERROR_ARGUMENT. */
typedef struct fovea_nn_attending {
  const fovea_problem *problem;
  const fovea_nn_attention_tensors *tensors;
} fovea_nn_attending;

/* Computes a layer: y from x, both contiguous f32 rows as fovea_nn_attention_tensors has them; y may be x. `cross`
 * is NULL without cross-attention. The bits are those of its steps by single calls, with f32 between. y and scores
 * lie apart from each other, from scratch and from the weights. Fails as fovea_nn_attention_run() does.
 *
 * Needs scratch, from `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_block_run(const fovea_nn_block *block, const fovea_nn_attending *self,
                                             const fovea_nn_attending *cross, const float *x, float *y,
                                             const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_block_scratch_size(const fovea_nn_block *block, const fovea_nn_attending *self,
                                                      const fovea_nn_attending *cross,
                                                      const fovea_execution *execution, size_t *size,
                                                      fovea_error *error);

/* ---- Positions and embedding -------------------------------------------------------------------------------- */

/* The type of a list's numbers: INT32 for int32_t, INT64 for int64_t. */
typedef enum fovea_nn_id_type { FOVEA_NN_INT32 = 0, FOVEA_NN_INT64 = 1 } fovea_nn_id_type;

/* Where sines and cosines stand in a row. */
typedef enum fovea_nn_wave_layout {
  FOVEA_NN_WAVES_INTERLEAVED = 0, /* sine, cosine, sine, ... */
  FOVEA_NN_WAVES_IN_HALVES = 1    /* all sines, then all cosines */
} fovea_nn_wave_layout;

/* The frequency of wave i. BY_DIM: base^(-2i / dim), by Vaswani et al., 2017; of an odd dim the last cosine is
 * missing. TO_BASE: base^(-i / (n - 1)) for n = floor(dim / 2) waves, so the last has exactly 1 / base, as in
 * tensor2tensor and fairseq; of an odd dim the last number is 0. */
typedef enum fovea_nn_wave_exponent {
  FOVEA_NN_WAVES_BY_DIM = 0,
  FOVEA_NN_WAVES_TO_BASE = 1
} fovea_nn_wave_exponent;

/* Sinusoidal positions: row r, at position p, is sin(p f[i]) and cos(p f[i]), or x * scale plus these. */
typedef struct fovea_nn_sinusoid_rows {
  size_t struct_size;              /* set by fovea_nn_sinusoid_rows_init() */
  int64_t rows;                    /* at least 0 */
  int64_t dim;                     /* from 1 to 2^20 */
  void *y;                         /* (rows, dim) */
  fovea_type y_type;               /* default FOVEA_F32 */
  int64_t y_stride;                /* elements from row to row; default: dim */
  double base;                     /* finite and at least 1 (else FOVEA_ERROR_ARGUMENT); default 10000 */
  fovea_nn_wave_layout layout;     /* default FOVEA_NN_WAVES_INTERLEAVED */
  fovea_nn_wave_exponent exponent; /* default FOVEA_NN_WAVES_BY_DIM */

  /* Positions from -2^40 to 2^40. */
  int64_t first_position;   /* of row 0, each later row one further; default 0 */
  const int64_t *positions; /* of each row, instead; NULL (default): none */

  /* (rows, dim) numbers that the positions are added to. NULL (default): none. x_type, x_stride and scale are used
   * with it. It may be y itself. */
  const void *x;
  fovea_type x_type; /* default FOVEA_F32 */
  int64_t x_stride;  /* default: dim */
  float scale;       /* finite; default 1. Vaswani et al. take sqrt(dim) */
} fovea_nn_sinusoid_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_sinusoid_rows_init(). */
FOVEA_NN_API void fovea_nn_sinusoid_rows_init_sized(fovea_nn_sinusoid_rows *rows, size_t struct_size,
                                                    int64_t row_count, int64_t dim, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_sinusoid_rows_init(fovea_nn_sinusoid_rows *rows, int64_t row_count, int64_t dim,
                                               void *y) {
  fovea_nn_sinusoid_rows_init_sized(rows, sizeof *rows, row_count, dim, y);
}

/* Writes the rows. Angles are exact at all positions, as those of a rotary embedding are. */
FOVEA_NN_API fovea_status fovea_nn_sinusoids(const fovea_nn_sinusoid_rows *rows, const fovea_execution *execution,
                                             fovea_error *error);

/* A table of vectors: row i is the vector of id i. */
typedef struct fovea_nn_table {
  const void *data; /* NULL: there is none, and the other fields have their defaults */
  int64_t count;    /* rows; default 0 */
  fovea_type type;  /* default FOVEA_F32 */
  int64_t stride;   /* elements from row to row; default: dim */
} fovea_nn_table;

/* An embedding y = token * scale + token type + position. */
typedef struct fovea_nn_embedding {
  size_t struct_size;         /* set by fovea_nn_embedding_init() */
  int64_t dim;                /* at least 1 */
  fovea_nn_table tokens;      /* needed */
  fovea_nn_table token_types; /* BERT's; default: none */
  fovea_nn_table positions;   /* learned, or written by fovea_nn_sinusoids(); default: none */
  float scale;                /* of tokens; finite; default 1 */
} fovea_nn_embedding;

/* Sets these fields, tokens as `count` contiguous rows of f32, and the others to their defaults. Callers in C use
 * fovea_nn_embedding_init(). */
FOVEA_NN_API void fovea_nn_embedding_init_sized(fovea_nn_embedding *embedding, size_t struct_size, int64_t dim,
                                                int64_t count, const void *tokens);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_embedding_init(fovea_nn_embedding *embedding, int64_t dim, int64_t count,
                                           const void *tokens) {
  fovea_nn_embedding_init_sized(embedding, sizeof *embedding, dim, count, tokens);
}

/* Tokens to be embedded. Lists of ids are contiguous, `rows` numbers each. */
typedef struct fovea_nn_embedding_rows {
  size_t struct_size;         /* set by fovea_nn_embedding_rows_init() */
  int64_t rows;               /* at least 0 */
  void *y;                    /* (rows, dim), apart from tables and ids */
  fovea_type y_type;          /* default FOVEA_F32 */
  int64_t y_stride;           /* elements from row to row; default: dim */
  const void *ids;            /* of tokens */
  fovea_nn_id_type id_type;   /* of all lists of ids; default FOVEA_NN_INT32 */
  const void *token_type_ids; /* needed with token_types, and used only with them */

  /* Used with the table of positions, one of both. */
  const void *position_ids; /* NULL (default): first_position */
  int64_t first_position;   /* of row 0, each later row one further; default 0 */
} fovea_nn_embedding_rows;

/* Sets these fields, and the others to their defaults, as for `embedding`. Callers in C use
 * fovea_nn_embedding_rows_init(). */
FOVEA_NN_API void fovea_nn_embedding_rows_init_sized(fovea_nn_embedding_rows *rows, size_t struct_size,
                                                     const fovea_nn_embedding *embedding, int64_t row_count,
                                                     const void *ids, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_embedding_rows_init(fovea_nn_embedding_rows *rows, const fovea_nn_embedding *embedding,
                                                int64_t row_count, const void *ids, void *y) {
  fovea_nn_embedding_rows_init_sized(rows, sizeof *rows, embedding, row_count, ids, y);
}

/* Embeds the rows. Each step (scale, token type, position) rounds once, in f32, and the last result is rounded to
 * y's type. FOVEA_ERROR_ARGUMENT if an id is no row of its table; nothing has been written. */
FOVEA_NN_API fovea_status fovea_nn_embed(const fovea_nn_embedding *embedding, const fovea_nn_embedding_rows *rows,
                                         const fovea_execution *execution, fovea_error *error);

/* The bucket of a relative position, key less query, by T5 (Raffel et al., 2020): the distances from 0 up have one
 * bucket each, those up to max_distance share buckets that grow with the logarithm, and all others have the last.
 * If `bidirectional`, the upper half of the buckets is for keys after the query; else all of these have bucket 0.
 * The number of buckets is from 2 (bidirectional: 4) to 1024; max_distance is more than the distances with a bucket
 * of their own, which are half of the buckets of a direction, and below 2^31. Returns -1 if not. */
FOVEA_NN_API int64_t fovea_nn_t5_bucket(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance);

/* Writes the buckets of relative positions first, first + 1, ..., first + count - 1: what a bias needs that depends
 * on the distance only. As ids of FOVEA_NN_INT32 they take rows from a table of biases by fovea_nn_embed(). */
FOVEA_NN_API fovea_status fovea_nn_t5_buckets(int64_t first, int64_t count, int bidirectional, int64_t buckets,
                                              int64_t max_distance, int32_t *to, fovea_error *error);

/* Dropout: each number is zero by chance, and the others grow so that the mean stays. The choice depends on seed,
 * stream and the index of the element, (first_row + row) * dim + column, and on nothing else. */
typedef struct fovea_nn_dropout_rows {
  size_t struct_size;         /* set by fovea_nn_dropout_rows_init() */
  int64_t rows, dim;          /* at least 0 and 1 */
  const void *x;              /* (rows, dim) */
  void *y;                    /* (rows, dim); it may be x itself */
  fovea_type x_type, y_type;  /* default FOVEA_F32 */
  int64_t x_stride, y_stride; /* elements from row to row; default: dim */
  float p;                    /* the chance of a zero, from 0 to 1 (else FOVEA_ERROR_ARGUMENT); default 0 */
  uint64_t seed, stream;      /* any; a stream for each layer and step; default 0 */
  int64_t first_row;          /* what row 0 is in a larger batch; the last index must be below 2^62; default 0 */
} fovea_nn_dropout_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_dropout_rows_init(). */
FOVEA_NN_API void fovea_nn_dropout_rows_init_sized(fovea_nn_dropout_rows *rows, size_t struct_size,
                                                   int64_t row_count, int64_t dim, const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_dropout_rows_init(fovea_nn_dropout_rows *rows, int64_t row_count, int64_t dim,
                                              const void *x, void *y) {
  fovea_nn_dropout_rows_init_sized(rows, sizeof *rows, row_count, dim, x, y);
}

/* Writes x / (1 - p), or 0, by Philox4x32-10 (Salmon et al., 2011). */
FOVEA_NN_API fovea_status fovea_nn_dropout(const fovea_nn_dropout_rows *rows, const fovea_execution *execution,
                                           fovea_error *error);

/* ---- Encoders and encoder-decoders --------------------------------------------------------------------------- */

/* A stack of layers with one width: an embedding, the layers, a last norm. It is an encoder (BERT, ViT), a model of
 * a language whose layers are causal and have caches, or the decoder of an encoder-decoder, whose layers have
 * cross-attention. Prepare it with fovea_nn_encoder_init(). */
typedef struct fovea_nn_encoder {
  size_t struct_size;           /* set by fovea_nn_encoder_init() */
  const fovea_nn_block *blocks; /* the layers: all with cross-attention, or none */
  int64_t count;                /* how many; at least 1 */
  size_t block_size; /* bytes from one block to the next; default sizeof(fovea_nn_block). They may be parts of
                        larger structs */
  const fovea_nn_embedding *embedding; /* NULL (default): rows are given, not ids */
  const fovea_nn_norm *embedding_norm; /* of the embedded or given rows, as BERT has it; NULL (default): none */
  const fovea_nn_norm *final_norm;     /* NULL (default): none */
} fovea_nn_encoder;

/* Sets these fields, and the others to NULL. Callers in C use fovea_nn_encoder_init(). */
FOVEA_NN_API void fovea_nn_encoder_init_sized(fovea_nn_encoder *encoder, size_t struct_size,
                                              const fovea_nn_block *blocks, size_t block_size, int64_t count);

/* Passes the sizes of the structs that this program was compiled with. */
static inline void fovea_nn_encoder_init(fovea_nn_encoder *encoder, const fovea_nn_block *blocks, int64_t count) {
  fovea_nn_encoder_init_sized(encoder, sizeof *encoder, blocks, sizeof *blocks, count);
}

/* The rows that go through a stack: ids, or x instead. They lie as fovea_nn_attention_tensors has them: as many as
 * the problem of `self` says, packed or not, `rows_first` or not. Lists of ids have a number for each row. */
typedef struct fovea_nn_encoder_rows {
  size_t struct_size; /* set by fovea_nn_encoder_rows_init() */

  /* What all layers attend over, as fovea_nn_block_run() takes it. With caches, layer i uses layer `layer` + i of
   * the segments. `cross` is for layers with cross-attention, else NULL (default). If its problem is segmented, the
   * caches hold the keys and values of the memory already (fovea_nn_encoder_decoder_prepare()), and those layers of
   * the stack are not used. */
  const fovea_nn_attending *self, *cross;

  const void *ids;            /* of tokens; NULL: x */
  fovea_nn_id_type id_type;   /* of all lists of ids; default FOVEA_NN_INT32 */
  const void *token_type_ids; /* as in fovea_nn_embedding_rows */

  /* Rows of the embedding's table of positions. NULL (default): row i of an entry is at first_position + i, or
   * first_positions[b] + i, of the tensors of `self`, which may have them for this alone. Rows that no entry has,
   * of a packed batch or beyond its number in q_lens, are at 0. */
  const void *position_ids;

  const float *x; /* (rows, dim), contiguous, with positions if they are to have any; NULL (default): ids */
  float *y;       /* (rows, dim), contiguous, apart from all else, or x itself */

  /* Elements from the scores of a layer to those of the next, if the tensors of `self` (`cross`) have scores and
   * there is more than one layer; else 0 (default). The scores of all layers, of `self` and of `cross`, lie apart.
   * Further outputs (lse, max_logits, top_keys, entropy, column_sums) need a stack of one layer: run the layers by
   * fovea_nn_block_run() to have them of each. */
  int64_t self_score_layer, cross_score_layer;
} fovea_nn_encoder_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_encoder_rows_init(). */
FOVEA_NN_API void fovea_nn_encoder_rows_init_sized(fovea_nn_encoder_rows *rows, size_t struct_size,
                                                   const fovea_nn_attending *self, const void *ids, float *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_encoder_rows_init(fovea_nn_encoder_rows *rows, const fovea_nn_attending *self,
                                              const void *ids, float *y) {
  fovea_nn_encoder_rows_init_sized(rows, sizeof *rows, self, ids, y);
}

/* Computes y: the bits are those of fovea_nn_embed(), fovea_nn_norm_run() and fovea_nn_block_run() one after the
 * other, with f32 between. A call that fails has written neither y nor scores nor a cache.
 *
 * Needs scratch, from `execution` or else allocated once by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_encoder_run(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                               const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_encoder_scratch_size(const fovea_nn_encoder *encoder,
                                                        const fovea_nn_encoder_rows *rows,
                                                        const fovea_execution *execution, size_t *size,
                                                        fovea_error *error);

/* A transformer that reads one sequence and writes another (Vaswani et al., 2017). The decoder's layers have
 * cross-attention. Prepare it with fovea_nn_encoder_decoder_init(). */
typedef struct fovea_nn_encoder_decoder {
  size_t struct_size;                        /* set by fovea_nn_encoder_decoder_init() */
  const fovea_nn_encoder *encoder, *decoder; /* the decoder's layers have `cross`, the encoder's have not */
  const fovea_nn_linear *output;             /* makes logits of the decoder's rows; NULL (default): none */
} fovea_nn_encoder_decoder;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_encoder_decoder_init(). */
FOVEA_NN_API void fovea_nn_encoder_decoder_init_sized(fovea_nn_encoder_decoder *model, size_t struct_size,
                                                      const fovea_nn_encoder *encoder,
                                                      const fovea_nn_encoder *decoder);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_encoder_decoder_init(fovea_nn_encoder_decoder *model, const fovea_nn_encoder *encoder,
                                                 const fovea_nn_encoder *decoder) {
  fovea_nn_encoder_decoder_init_sized(model, sizeof *model, encoder, decoder);
}

/* Computes the target's rows: y is (rows, dim), or (rows, output->out) with `output`.
 *
 * With a source, the encoder runs first, and its y, the memory, is what the target's cross-attention attends over:
 * `memory` of those tensors is NULL, and the problem is not segmented. Without one (NULL) the encoder is not used:
 * the target names its memory, or its caches hold that. So a step of decoding is a call with one target row of each
 * entry, whose `self` and `cross` are both segmented; steps have the bits of all positions at once with a causal
 * `self`.
 *
 * Fails as fovea_nn_encoder_run() does; the source's y may have been written if the target fails. Needs scratch,
 * from `execution` or else allocated once by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_run(const fovea_nn_encoder_decoder *model,
                                                       const fovea_nn_encoder_rows *source,
                                                       const fovea_nn_encoder_rows *target,
                                                       const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_scratch_size(const fovea_nn_encoder_decoder *model,
                                                                const fovea_nn_encoder_rows *source,
                                                                const fovea_nn_encoder_rows *target,
                                                                const fovea_execution *execution, size_t *size,
                                                                fovea_error *error);

/* Projects a memory once for all steps: its keys and values of each of the decoder's layers go to positions 0, 1,
 * ... of the caches of `cross`, rotated if that layer has a rotary embedding. Layer i goes to layer `layer` + i.
 *
 * Of the problem it uses batch, kv_heads, kv_len, qk_dim, v_dim, and kv_lens, the rows of each
 * entry, or instead cu_seqlens_kv, if the memory is packed; of the tensors memory, memory_values, rows_first,
 * sequences and layer. Other fields are for the attention itself. If segments are refused, some layers may have
 * been written.
 *
 * Needs scratch, from `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_prepare(const fovea_nn_encoder_decoder *model,
                                                           const fovea_nn_attending *cross,
                                                           const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, for any number of workers; 0: none. If a layer or the problem is refused, it
 * returns the error, and *size is 0. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_prepare_size(const fovea_nn_encoder_decoder *model,
                                                                const fovea_nn_attending *cross, size_t *size,
                                                                fovea_error *error);

/* ---- Streaming ---------------------------------------------------------------------------------------------- */

/* Truncated self-attention over a stream: encoder layers whose rows see some frames before and after them, by a
 * window, by chunks (WeNet, Zipformer, Emformer's look-ahead) or by both, for frames that come a few at a time, as
 * those of speech do. The rows have the bits that the same layers (fovea_nn_block_run()) give over the whole
 * utterance at once with the same rules, however the frames are cut. Each frame is projected once in each layer;
 * its keys and values stay, at its position in the utterance, while a later row may see them. Chunks count from the
 * first frame.
 *
 * A row of a layer comes out with the last frame that it may see: with a window of `right` frames, row i of all
 * layers comes out with frame i + layers * right. With chunks the rows of a chunk come out together, each layer
 * chunk_right frames after the chunk's end. Memory follows from rules, chunk, layers and sizes, and not from the
 * utterance: with `left` and `right`, the most frames that a row sees before and after its own, each layer keeps
 * left + right + chunk keys and values, and right + chunk frames.
 *
 * Prepare it with fovea_nn_streaming_init(). */
typedef struct fovea_nn_streaming {
  size_t struct_size; /* set by fovea_nn_streaming_init() */
  int64_t layers;     /* at least 1 */

  /* `layers` pointers to encoder layers, all with the same dim. Attention has its key and value layers, no biases
   * of keys, and may have a rotary embedding. */
  const fovea_nn_block *const *blocks;

  /* Of all layers. Used are heads, kv_heads, qk_dim, v_dim, scale, softcap, sink, and the
   * rules: window_left, window_right, causal, chunk_size, chunk_left and chunk_right; also score_activation,
   * normaliser and modes. On each side something must end what a row sees: the window, the chunks, or causal (else
   * FOVEA_ERROR_ARGUMENT). batch is 1, q_len and kv_len
   * are 0, and all else has its defaults. */
  const fovea_problem *problem;
  int64_t chunk; /* the most frames that are computed at once, at least 1: more are cut. It changes no bit, and has
                  * nothing to do with the chunks of the rules */

  /* (layers, heads) numbers, as in fovea_tensors; needed with FOVEA_SINK_PER_HEAD, else NULL (default). */
  const float *sinks;
} fovea_nn_streaming;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_streaming_init(). */
FOVEA_NN_API void fovea_nn_streaming_init_sized(fovea_nn_streaming *streaming, size_t struct_size, int64_t layers,
                                                const fovea_nn_block *const *blocks, const fovea_problem *problem,
                                                int64_t chunk);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_streaming_init(fovea_nn_streaming *streaming, int64_t layers,
                                           const fovea_nn_block *const *blocks, const fovea_problem *problem,
                                           int64_t chunk) {
  fovea_nn_streaming_init_sized(streaming, sizeof *streaming, layers, blocks, problem, chunk);
}

/* One stream, in memory of the caller. Streams may run at the same time, and may share their layers; calls that
 * take the same stream may not run at the same time. */
typedef struct fovea_nn_stream fovea_nn_stream;

/* Returns the bytes of a stream; 0 if `streaming` would be refused for its sizes or its rules. */
FOVEA_NN_API size_t fovea_nn_stream_size(const fovea_nn_streaming *streaming);

/* Makes a stream at the begin of an utterance, in memory of fovea_nn_stream_size() bytes or more at a multiple of
 * FOVEA_SCRATCH_ALIGNMENT. It holds nothing that must be freed, and may not be moved. Blocks, attention structs and
 * `streaming` are copied; their layers, norms, rotary embeddings, weights and sinks, and the name of the
 * instruction set, must live as long as the stream, and keep their contents. All of them are checked here. On
 * failure *stream is NULL. */
FOVEA_NN_API fovea_status fovea_nn_stream_create_in(const fovea_nn_streaming *streaming, void *memory, size_t size,
                                                    fovea_nn_stream **stream, fovea_error *error);

/* Takes the next `rows` frames (at least 0) of the utterance, x (rows, dim), and writes the rows whose frames are
 * all there to y, and their number to *written: fovea_nn_stream_rows(), which with a window alone is never more
 * than `rows`, and with chunks never more than `rows` + fovea_nn_stream_pending(). x and y are contiguous f32; y is
 * apart from x (without chunks it may also be x), from the stream and from all that the layers read, and may be
 * NULL if nothing is written.
 *
 * Needs scratch (fovea_nn_stream_scratch_size()), from `execution` or else allocated by its allocator. If
 * a call fails, *written is 0, and the stream is as before, unless computing has begun, as when a layer was changed
 * meanwhile: then push and finish return FOVEA_ERROR_ARGUMENT, whose field is "stream", until the stream is reset.
 * FOVEA_ERROR_ARGUMENT with the field "rows" if there are more frames than 2^48, or than the rotary embedding has
 * positions. */
FOVEA_NN_API fovea_status fovea_nn_stream_push(fovea_nn_stream *stream, int64_t rows, const float *x, float *y,
                                               int64_t *written, const fovea_execution *execution,
                                               fovea_error *error);

/* Ends the utterance: writes the fovea_nn_stream_pending() rows that have not come out, whose windows end with the
 * last frame, to y. The next frame begins a new utterance. Scratch and errors are those of a push. */
FOVEA_NN_API fovea_status fovea_nn_stream_finish(fovea_nn_stream *stream, float *y, int64_t *written,
                                                 const fovea_execution *execution, fovea_error *error);

/* Takes frames of several utterances at once, each in a stream of its own: the next rows[i] frames x[i] of
 * streams[i], whose rows go to y[i], and their number to written[i], as a push does; where ends[i] is 1 (NULL: none
 * is), the utterance ends with these frames, as by fovea_nn_stream_finish(). Streams may differ in everything, and
 * begin and end when they like. Each has the bits of calls of its own. They are shared by workers, one stream each,
 * so that `count` streams of one frame keep as many workers busy, which one stream does not.
 *
 * What a stream writes is apart from all that the others use, but for layers that they share, and no stream is
 * given twice. If a call is refused, no stream has changed. If one fails while it computes, the others have their
 * rows, its written[i] is 0, and it must be reset. Scratch is fovea_nn_streams_scratch_size() bytes, from
 * `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_streams_push(fovea_nn_stream *const *streams, int64_t count, const int64_t *rows,
                                                const float *const *x, float *const *y, const int *ends,
                                                int64_t *written, const fovea_execution *execution,
                                                fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does; 0 without streams. It uses the
 * streams, so no other call may use them at the same time. */
FOVEA_NN_API fovea_status fovea_nn_streams_scratch_size(fovea_nn_stream *const *streams, int64_t count,
                                                        const fovea_execution *execution, size_t *size,
                                                        fovea_error *error);

/* Drops the utterance: the next frame begins a new one. NULL is allowed. */
FOVEA_NN_API void fovea_nn_stream_reset(fovea_nn_stream *stream);

/* Returns how many rows the push of the next `rows` frames will write; 0 for NULL and for what is refused. */
FOVEA_NN_API int64_t fovea_nn_stream_rows(const fovea_nn_stream *stream, int64_t rows);

/* Returns how many frames were taken whose rows have not come out; at most layers * right. 0 for NULL. */
FOVEA_NN_API int64_t fovea_nn_stream_pending(const fovea_nn_stream *stream);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does, the same for all calls of a stream.
 * It uses the stream, so no other call may use it at the same time. */
FOVEA_NN_API fovea_status fovea_nn_stream_scratch_size(fovea_nn_stream *stream, const fovea_execution *execution,
                                                       size_t *size, fovea_error *error);

/* ---- Recurrent attention ------------------------------------------------------------------------------------ */

/* What additive attention applies to the sum of a query and a key. */
typedef enum fovea_nn_additive_activation {
  FOVEA_NN_ADDITIVE_TANH = 0,      /* tanh(x) */
  FOVEA_NN_ADDITIVE_LEAKY_RELU = 1 /* x where x is above 0, else leaky_slope * x */
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
  fovea_nn_additive_activation activation; /* default FOVEA_NN_ADDITIVE_TANH */
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
  const void *queries;                 /* (batch, q_len, query->in), without a layer (batch, q_len, dim) */
  const void *keys;                    /* (batch, kv_len, key->in), without a layer (batch, kv_len, dim) */
  const void *values;                  /* (batch, kv_len, v_dim) */
  void *o;                             /* (batch, q_len, v_dim): context vectors, apart from all other tensors */
  fovea_type query_type, key_type, value_type, o_type;                /* default FOVEA_F32 */
  fovea_strides query_strides, key_strides, value_strides, o_strides; /* default: contiguous */

  /* (batch, q_len, kv_len) weights of the keys, 0 for keys that are not seen. NULL (default): not wanted.
   * weight_strides are used with it. */
  float *weights;
  fovea_strides weight_strides; /* default: contiguous */

  const int64_t *kv_lens; /* `batch` numbers from 0 to kv_len: keys beyond are not seen. NULL (default): none */

  /* Which keys a row sees, with the types and strides of fovea_problem: FOVEA_MASK_BOOL or FOVEA_MASK_BITS. NULL
   * (default): all. A row that sees no key gets zeros, as o and as weights. */
  const void *mask;
  fovea_mask_type mask_type;       /* default FOVEA_MASK_NONE */
  fovea_mask_strides mask_strides; /* default: contiguous bytes; see fovea_mask_layout() */

  /* A graph as a CSR matrix, the same for all entries: row i sees only the keys edge_keys[edge_starts[i]] to
   * edge_keys[edge_starts[i + 1] - 1], in any order; a key that is named twice counts once, -1 names nothing.
   * q_len + 1 numbers that do not decrease. Has the bits of a mask of the same meaning, and takes time and scratch
   * for the edges only; kv_lens and a mask take keys away, too. NULL (default): none. */
  const int64_t *edge_starts, *edge_keys;
} fovea_nn_additive_tensors;

/* Sets these fields, and the others to their defaults, with the strides of what `additive` takes. Callers in C use
 * fovea_nn_additive_tensors_init(). */
FOVEA_NN_API void fovea_nn_additive_tensors_init_sized(fovea_nn_additive_tensors *tensors, size_t struct_size,
                                                       const fovea_nn_additive *additive, int64_t batch,
                                                       int64_t q_len, int64_t kv_len, int64_t v_dim,
                                                       const void *queries, const void *keys, const void *values,
                                                       void *o);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_additive_tensors_init(fovea_nn_additive_tensors *tensors,
                                                  const fovea_nn_additive *additive, int64_t batch, int64_t q_len,
                                                  int64_t kv_len, int64_t v_dim, const void *queries,
                                                  const void *keys, const void *values, void *o) {
  fovea_nn_additive_tensors_init_sized(tensors, sizeof *tensors, additive, batch, q_len, kv_len, v_dim, queries,
                                       keys, values, o);
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

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as well. */
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

  /* The cell state of an LSTM, which needs both; a GRU has none. NULL: default. Types and strides are used with
   * them. */
  const void *c;                  /* (rows, H): the old one */
  void *new_c;                    /* (rows, H): the new one; it may be c itself */
  fovea_type c_type, new_c_type;  /* default FOVEA_F32 */
  int64_t c_stride, new_c_stride; /* default: contiguous rows */
} fovea_nn_cell_rows;

/* Sets these fields, and the others to their defaults, as for `cell`. Callers in C use fovea_nn_cell_rows_init().
 */
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

/* Sets *size to the bytes of scratch of a step of `rows` rows, for any number of workers; 0: none. If the cell is
 * refused, or rows is out of range, it returns the error, and *size is 0. */
FOVEA_NN_API fovea_status fovea_nn_cell_scratch_size(const fovea_nn_cell *cell, int64_t rows, size_t *size,
                                                     fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
