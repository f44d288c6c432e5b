/* fovea_nn: layers around attention, with one answer.
 *
 * A second, optional library. It multiplies by weights, normalises rows and composes layers, with the structs,
 * statuses, error texts, threads and rules of fovea/fovea.h: sizes and strides count elements; nothing is
 * allocated, printed or read beyond the elements that a call names; what is set and would not be used is refused.
 * Strides are FOVEA_CONTIGUOUS by default; comments give the stride that it stands for. The same inputs give the
 * same bits on every instruction set, for any number of threads and any number of rows: a row alone has the bits
 * that it has in a batch. docs/numerics.md, part "Layers", states the arithmetic.
 *
 * Unless it says otherwise, a function runs as row-wise calls do (fovea_execution): threads, parallel_for and isa
 * are used, scratch is refused, `execution` and `error` may be NULL. A call that fails has written nothing. Calls
 * may run at the same time if no two of them write the same output. */
#ifndef FOVEA_NN_H
#define FOVEA_NN_H

#include <fovea/rotary.h>

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
  FOVEA_NN_ACTIVATION_NONE = 0,      /* nothing */
  FOVEA_NN_ACTIVATION_RELU = 1,      /* max(x, 0) */
  FOVEA_NN_ACTIVATION_GELU = 2,      /* x Phi(x) = x (1 + erf(x / sqrt(2))) / 2 (Hendrycks & Gimpel, 2016) */
  FOVEA_NN_ACTIVATION_GELU_TANH = 3, /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, its approximation */
  FOVEA_NN_ACTIVATION_SILU = 4,      /* x / (1 + e^-x), also called Swish */
  FOVEA_NN_ACTIVATION_ELU = 5        /* x where x is above 0, else e^x - 1 (Clevert et al., 2016) */
} fovea_nn_activation;

/* How weights lie. FOVEA_NN_WEIGHTS_IN_ROWS: row by row of W. FOVEA_NN_WEIGHTS_IN_PANELS: [piece of 128 dims][panel
 * of 16 outputs][dim][output], of bf16 two dims of an output side by side; the last piece has the dims that are
 * left over. fovea_nn_pack() makes them, the same for every instruction set. FOVEA_NN_WEIGHTS_QUANTISED: what
 * fovea_nn_pack_codes() or fovea_nn_quantise() wrote, codes and scales with their sizes, at an address that is a
 * multiple of 64. */
typedef enum fovea_nn_layout {
  FOVEA_NN_WEIGHTS_IN_ROWS = 0,
  FOVEA_NN_WEIGHTS_IN_PANELS = 1,
  FOVEA_NN_WEIGHTS_QUANTISED = 2
} fovea_nn_layout;

/* A linear layer y = act(x W^T + b) * gate + residual. W is (out, in), as PyTorch's nn.Linear stores it. */
typedef struct fovea_nn_linear {
  size_t struct_size;     /* set by fovea_nn_linear_init() */
  int64_t in, out;        /* at least 1 */
  const void *weights;    /* (out, in), or the panels of that matrix, or its quantised weights */
  fovea_type weight_type; /* default FOVEA_F32, as quantised weights must have */
  fovea_nn_layout layout; /* default FOVEA_NN_WEIGHTS_IN_ROWS */
  int64_t weight_stride;  /* elements from row to row of W; default: FOVEA_CONTIGUOUS, `in`. Of other layouts: the
                             default, or 0 */
  const float *bias;      /* `out` numbers; NULL (default): none */
  fovea_nn_activation activation; /* default FOVEA_NN_ACTIVATION_NONE */

  /* The arithmetic of the products (docs/numerics.md, L1). Default FOVEA_MODE_EXACT: f32. FOVEA_MODE_BF16, with panels of
   * bf16: x is rounded to bf16, and sums are those of AMX's tiles. FOVEA_MODE_INT8, with quantised weights: each row
   * of x is quantised to 8 bits as it is read, with one scale, its largest number / 127; sums of products of codes are
   * exact; a row with NaN or an infinity is NaN in all outputs. With one scale for all dims `in` is at most 131,072. */
  fovea_mode mode;
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

  /* (rows, out) numbers that are added last. NULL (default): none. It may be y itself. */
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
 * the last result is rounded to y's type: a layer with all of them has the bits of the same steps one by one. Many
 * rows need scratch (fovea_nn_linear_scratch_size()), from `execution` or else allocated once by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_linear_run(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                              const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch that `row_count` rows need with this execution: its threads and its isa; 0:
 * none. A caller who reserves it once may pass it with fewer rows, or through layers that need less. */
FOVEA_NN_API fovea_status fovea_nn_linear_scratch_size(const fovea_nn_linear *linear, int64_t row_count,
                                                       const fovea_execution *execution, size_t *size,
                                                       fovea_error *error);

/* Returns the elements of the panels of a layer's weights. 0 if a size is below 1, or if the result would exceed
 * 2^57. */
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

/* Applies an activation to each number: the same as after a linear layer. FOVEA_NN_ACTIVATION_NONE converts
 * types. */
FOVEA_NN_API fovea_status fovea_nn_activate(const fovea_nn_map *map, fovea_nn_activation activation,
                                            const fovea_execution *execution, fovea_error *error);

/* Softmax of each row: e^(x - max), divided by their sum, in natural units (docs/numerics.md, L4). A row of -Inf
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
  double eps;              /* default 1e-5. Must be >= 0; rounded to f32 once. FOVEA_ERROR_ARGUMENT otherwise */
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
  /* Both, or with a segmented cache neither: the cache then holds all keys and values already, as in
   * cross-attention, and nothing is appended. */
  const fovea_nn_linear *key, *value;
  const fovea_rotary *rotary; /* rotates queries and keys for their positions; NULL (default): none */

  /* One more key and value of each sequence, which no mask hides: kv_heads * qk_dim and kv_heads * v_dim numbers,
   * PyTorch's bias_k and bias_v. NULL (default): none. The key is at position 0, before all others. Not with
   * caches, packed keys, windows, chunks, patterns, rotary, position terms, Shaw's vectors, kv_lens, offsets,
   * mask.begin, or causal rows before all keys. */
  const float *bias_key, *bias_value;

  /* 1: the scores that the problem's scores.kind wants are averaged over heads, as PyTorch returns weights. Then
   * scores.heads, scores.rows and scores.keys have their defaults. Default 0: each head has its own. */
  int average_scores;

  /* What features of the problem take, with the shapes of fovea_tensors. Each is needed if the problem has the
   * feature, else NULL (default). They lie here, and not in the tensors, so that each layer of a stack has its own;
   * layers may share them. */
  const float *const *terms;       /* numbers of position terms: ALiBi's slopes, T5's table */
  const double *head_scales;       /* scales per head */
  fovea_tensors_shaw shaw;         /* relative position representations */
  fovea_tensors_channels channels; /* of int8 mode, for the projected keys and values */
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
 * each of batch * kv_len: sequence by sequence, or, with `rows_first`, position by position, as (length, batch,
 * dim) tensors lie. Of packed batches, q_len and kv_len rows in all. */
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
  int rows_first; /* 1: row i of sequence b is row i * batch + b. Default 0: row b * q_len + i (kv_len) */

  const void *mask;  /* as in fovea_tensors */
  const float *sink; /* as in fovea_tensors */

  /* With a segmented cache: caches that new keys and values are appended to, and that are then attended over. The
   * memory has q_len rows for each sequence (self-attention), which go to positions first_position + i, or
   * first_positions[b] + i. */
  fovea_tensors_cache cache;
  /* Positions of the rows, for rotary embedding and caches. Without caches, keys are at positions 0, 1, ... (or
   * memory_positions) if there is a memory, else at the positions of the rows. Default 0 and NULL; at most one is
   * set. */
  int64_t first_position;
  const int64_t *first_positions;

  /* Where rows, and keys made of them, are rotated to, if these are not their positions: drafts of a tree, rows
   * after left padding, rows of M-RoPE. batch * q_len numbers for each axis of the rotary embedding, number b *
   * q_len + i for row i of sequence b, also with rows_first; packed, one for each row. Needs a rotary embedding;
   * of a stack, in one of its layers. Default NULL: the positions of the rows. */
  const int64_t *rotary_positions;
  /* The same for keys of a memory: batch * kv_len numbers for each axis, number b * kv_len + i for row i of
   * sequence b; packed, one for each row. Needs a memory, which of an encoder-decoder may be the source, and a
   * rotary embedding. fovea_nn_encoder_decoder_prepare() takes it, too. Default NULL: 0, 1, ... */
  const int64_t *memory_positions;

  /* What the problem's scores.kind wants, (batch, heads, q_len, kv_len) numbers at scores.strides of the problem,
   * apart from all else: a row for each of batch, heads and q_len also with rows_first. With average_scores there
   * is no head axis, and FOVEA_CONTIGUOUS stands for strides without one. With bias_key a row has one more number,
   * the first, and key positions of all outputs count from the bias. NULL (default) without scores.kind. */
  float *scores;

  const double *row_scales; /* as in fovea_tensors; (batch, q_len) also with rows_first */
  /* Further outputs, as in fovea_tensors, each apart from all else; (batch, heads, q_len) also with rows_first.
   * NULL (default) if the problem does not want them. */
  float *lse, *max_logits;
  fovea_tensors_top top;
  float *entropy, *column_sums;
} fovea_nn_attention_tensors;

/* Sets x and y, and the others to their defaults. Callers in C use fovea_nn_attention_tensors_init(). */
FOVEA_NN_API void fovea_nn_attention_tensors_init_sized(fovea_nn_attention_tensors *tensors, size_t struct_size,
                                                        const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_attention_tensors_init(fovea_nn_attention_tensors *tensors, const void *x, void *y) {
  fovea_nn_attention_tensors_init_sized(tensors, sizeof *tensors, x, y);
}

/* Computes a layer of attention. It uses all of the problem but state, and types and strides of Q, K, V and O,
 * which are its own (f32, in scratch): these fields must have their defaults. A padding mask is q_lens and kv_lens
 * (padding after the rows), kv_begins (in front of them), or a boolean mask with stride 0 along heads and rows;
 * PyTorch's add_zero_attn is FOVEA_SINK_ZERO. The result has the bits of the same steps by single calls, with f32
 * between them.
 *
 * Needs scratch (fovea_nn_attention_scratch_size()), from `execution` or else allocated once by its
 * allocator. A call that fails has written neither y nor scores nor a cache. */
FOVEA_NN_API fovea_status fovea_nn_attention_run(const fovea_nn_attention *attention, const fovea_problem *problem,
                                                 const fovea_nn_attention_tensors *tensors,
                                                 const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch that a run needs with this execution: its threads and its isa; 0: none.
 * Scratch of the execution is not used. If the layer or the problem is refused, it returns the error, and *size is
 * 0. All *_scratch_size() of fovea_nn work so: a size of 0 with FOVEA_OK is no refusal. */
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
 * cross-attention the tensors name the memory, unless the cache is segmented; FOVEA_ERROR_ARGUMENT otherwise. */
typedef struct fovea_nn_attending {
  const fovea_problem *problem;
  const fovea_nn_attention_tensors *tensors;
} fovea_nn_attending;

/* Computes a layer: y from x, both contiguous f32 rows as fovea_nn_attention_tensors has them; y may be x. `cross`
 * is NULL without cross-attention. The result has the bits of its steps by single calls, with f32 between them. y
 * and scores lie apart from each other, from scratch and from the weights. Fails as fovea_nn_attention_run() does; an
 * error of an attention begins with its name here: "cross.mask is NULL".
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

#ifdef __cplusplus
}
#endif

#endif
