/* Attention over some keys of each row: Longformer, BigBird, Reformer, and keys that an indexer selects.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_SPARSE_ATTENTION_H
#define FOVEA_SPARSE_ATTENTION_H

#include <fovea/nn.h>
#include <fovea/pattern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Longformer --------------------------------------------------------------------------------------------- */

/* Longformer (Beltagy et al., 2020): a token sees the tokens at most `window` before and after it, and all global
 * tokens, by one softmax in which each key counts once. A global token sees all tokens, by queries, keys and values
 * of layers of their own. For a batch of n tokens, g of them global, attention takes O(n * (2 * window + 1 + g) *
 * dim) time, and O(n * dim) memory.
 *
 * Which token sees which is compiled once, with the plans of all runs: fovea_nn_longformer_create(). All layers of
 * a model share the result, and so may threads. A batch with other lengths or other global tokens needs a new one.
 */
typedef struct fovea_nn_longformer fovea_nn_longformer;

/* What a token is, in `states`. */
#define FOVEA_NN_TOKEN_PADDING ((int8_t)-1) /* sees no token, visible to none; its output is zeros */
#define FOVEA_NN_TOKEN_LOCAL   ((int8_t)0)
#define FOVEA_NN_TOKEN_GLOBAL  ((int8_t)1)

/* Sizes and tokens. Prepare it with fovea_nn_longformer_options_init(). */
typedef struct fovea_nn_longformer_options {
  size_t struct_size;    /* set by fovea_nn_longformer_options_init() */
  int64_t batch, heads;  /* at least 1 */
  int64_t length;        /* tokens of each sequence; at least 0, batch * length at most 2^31 - 1 */
  int64_t qk_dim, v_dim; /* of one head, at least 1 */
  int64_t window;        /* tokens on either side, at least 0. Hugging Face's attention_window is twice it */
  /* (batch, length) numbers, each FOVEA_NN_TOKEN_PADDING, LOCAL or GLOBAL; contiguous. With Hugging Face's masks of
   * 0 and 1: attention_mask * (1 + global_attention_mask) - 1. NULL (default): all tokens are local. They are read
   * by fovea_nn_longformer_create() only. */
  const int8_t *states;
  double scale; /* of q.k, finite; default FOVEA_DEFAULT_NUMBER: 1/sqrt(qk_dim) */
} fovea_nn_longformer_options;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_longformer_options_init(). */
FOVEA_NN_API void fovea_nn_longformer_options_init_sized(fovea_nn_longformer_options *options, size_t struct_size,
                                                         int64_t batch, int64_t heads, int64_t length, int64_t dim,
                                                         int64_t window);

/* Passes the size of the struct that this program was compiled with. Both dims of a head are `dim`. */
static inline void fovea_nn_longformer_options_init(fovea_nn_longformer_options *options, int64_t batch,
                                                    int64_t heads, int64_t length, int64_t dim, int64_t window) {
  fovea_nn_longformer_options_init_sized(options, sizeof *options, batch, heads, length, dim, window);
}

/* Compiles patterns and plans: one pattern of local rows for all sequences whose global tokens are the same, and
 * one of global rows for each sequence. Takes O(batch * length) time and memory, and compares each sequence's
 * states with the states of earlier sequences that differ. `execution` has the isa of the attention, and the
 * allocator of the object, which keeps it; its threads and scratch are for runs, and NULL means all defaults. A
 * run's isa is NULL or names the same set (else FOVEA_ERROR_UNUSED). On failure *longformer is NULL. `error` may
 * be NULL. Errors: FOVEA_ERROR_ARGUMENT, FOVEA_ERROR_UNSUPPORTED (of isa), FOVEA_ERROR_MEMORY. */
FOVEA_NN_API fovea_status fovea_nn_longformer_create(const fovea_nn_longformer_options *options,
                                                     const fovea_execution *execution,
                                                     fovea_nn_longformer **longformer, fovea_error *error);
/* NULL is allowed. */
FOVEA_NN_API void fovea_nn_longformer_destroy(fovea_nn_longformer *longformer);

/* The projections of a layer. Each is any linear layer; with heads and dims of the object, the layers of queries
 * and keys have heads * qk_dim outputs, the layers of values heads * v_dim. All but `output` have as many inputs.
 * Prepare it with fovea_nn_longformer_layer_init(). */
typedef struct fovea_nn_longformer_layer {
  size_t struct_size;                         /* set by fovea_nn_longformer_layer_init() */
  const fovea_nn_linear *query, *key, *value; /* of all tokens */
  /* Of rows that are global, and of the keys and values that they see. All three, or NULL (default): query, key and
   * value. They need not be NULL if no token is global, and are then not used: a batch may have none. */
  const fovea_nn_linear *global_query, *global_key, *global_value;
  const fovea_nn_linear *output; /* takes heads * v_dim; NULL (default): heads are the result, side by side */
} fovea_nn_longformer_layer;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_longformer_layer_init(). */
FOVEA_NN_API void fovea_nn_longformer_layer_init_sized(fovea_nn_longformer_layer *layer, size_t struct_size,
                                                       const fovea_nn_linear *query, const fovea_nn_linear *key,
                                                       const fovea_nn_linear *value);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_longformer_layer_init(fovea_nn_longformer_layer *layer, const fovea_nn_linear *query,
                                                  const fovea_nn_linear *key, const fovea_nn_linear *value) {
  fovea_nn_longformer_layer_init_sized(layer, sizeof *layer, query, key, value);
}

/* The rows of a layer, batch * length of them, sequence by sequence. Prepare it with
 * fovea_nn_longformer_rows_init(). */
typedef struct fovea_nn_longformer_rows {
  size_t struct_size; /* set by fovea_nn_longformer_rows_init() */
  const void *x;      /* (rows, in). Rows of padding at the end of a sequence are not read */
  void *y;            /* (rows, output->out), or heads * v_dim. It may be x: all of x is read before y is written */
  fovea_type x_type, y_type;  /* default FOVEA_F32 */
  int64_t x_stride, y_stride; /* elements from row to row. Default FOVEA_CONTIGUOUS */
} fovea_nn_longformer_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_longformer_rows_init(). */
FOVEA_NN_API void fovea_nn_longformer_rows_init_sized(fovea_nn_longformer_rows *rows, size_t struct_size,
                                                      const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_longformer_rows_init(fovea_nn_longformer_rows *rows, const void *x, void *y) {
  fovea_nn_longformer_rows_init_sized(rows, sizeof *rows, x, y);
}

/* Computes a layer (docs/numerics.md, L16). A row of padding has zeros as heads, which `output` takes like any
 * others. y lies apart from the weights. Needs scratch (fovea_nn_longformer_scratch_size()), from `execution` or
 * else allocated once. Threads may run the same object at the same time. */
FOVEA_NN_API fovea_status fovea_nn_longformer_run(const fovea_nn_longformer *longformer,
                                                  const fovea_nn_longformer_layer *layer,
                                                  const fovea_nn_longformer_rows *rows,
                                                  const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_longformer_scratch_size(const fovea_nn_longformer *longformer,
                                                           const fovea_nn_longformer_layer *layer,
                                                           const fovea_nn_longformer_rows *rows,
                                                           const fovea_execution *execution, size_t *size,
                                                           fovea_error *error);

/* ---- BigBird ------------------------------------------------------------------------------------------------ */

/* The lists of blocks of BigBird (Zaheer et al., 2020; "ITC", global tokens among the tokens), for
 * fovea_rule_blocks(): blocks are block_size rows or keys, `blocks` of each. The first and the last block of rows
 * see all blocks. Block i of the others sees blocks i - 1, i and i + 1, the first, the last, and `chosen` more
 * that are drawn at random from those that are left (all, if these are fewer). Block 1 does not draw the last but
 * one, and the last but one does not draw block 1, as in the authors' code; so every block draws from blocks - 5.
 *
 * Block i has list i - 1 of fovea_random_blocks(seed, blocks - 2, blocks - 5, chosen), whose numbers count the
 * blocks that it may draw, ascending. Writes `blocks` + 1 numbers to starts, and fovea_nn_bigbird_columns() to
 * columns, each list ascending. The lists are not the lists of numpy with that seed. Takes O(blocks * (chosen^2 +
 * 5)) time. `error` may be NULL. Error: FOVEA_ERROR_ARGUMENT. */
FOVEA_NN_API fovea_status fovea_nn_bigbird_blocks(uint64_t seed, int64_t blocks, int64_t chosen, int64_t *starts,
                                                  int64_t *columns, fovea_error *error);

/* Returns how many columns these lists have: at most blocks * (5 + chosen) + 2 * blocks. 0 if blocks is not from 1
 * to 2^31, or chosen not from 0 to 2^31. */
FOVEA_NN_API int64_t fovea_nn_bigbird_columns(int64_t blocks, int64_t chosen);

/* What a pattern of BigBird is made of. Prepare it with fovea_nn_bigbird_init(). */
typedef struct fovea_nn_bigbird {
  size_t struct_size;        /* set by fovea_nn_bigbird_init() */
  int64_t length;            /* rows, and keys, from 0 to 2^31 - 1; the last block may be shorter */
  int64_t block_size;        /* from 1 to 2^31 - 1; default 64 */
  int64_t chosen;            /* random blocks of a block of rows, from 0 to 2^31; default 3 */
  uint64_t seed;             /* of head h: seed + h; default 0 */
  int64_t heads;             /* how many heads have lists of their own, from 1 (default: all heads share) to 4096 */
  fovea_allocator allocator; /* for the pattern, which keeps it; default: malloc(), free() */
} fovea_nn_bigbird;

/* Sets the length, and the others to their defaults. Callers in C use fovea_nn_bigbird_init(). */
FOVEA_NN_API void fovea_nn_bigbird_init_sized(fovea_nn_bigbird *bigbird, size_t struct_size, int64_t length);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_bigbird_init(fovea_nn_bigbird *bigbird, int64_t length) {
  fovea_nn_bigbird_init_sized(bigbird, sizeof *bigbird, length);
}

/* Makes a pattern of the lists above, by rows and keys of `length`. Any problem may have it: attention over it is
 * fovea_attend(), or a layer of fovea_nn_attention, in O(length * (5 + chosen) * block_size * dim) time. On failure
 * *pattern is NULL; fovea_pattern_destroy() frees it. `error` may be NULL. Errors: FOVEA_ERROR_ARGUMENT,
 * FOVEA_ERROR_MEMORY. */
FOVEA_NN_API fovea_status fovea_nn_bigbird_pattern(const fovea_nn_bigbird *bigbird, fovea_pattern **pattern,
                                                   fovea_error *error);

/* ---- Reformer ----------------------------------------------------------------------------------------------- */

/* LSH attention (Kitaev et al., Reformer, 2020). Queries and keys are the same rows x. A round of hashing sorts the
 * rows of a head into buckets, so that similar rows meet, cuts the sorted rows into chunks of bucket_size rows, and
 * lets each row see its own chunk and the one before. All rounds together are one softmax:
 *
 *   bucket: the index of the largest of (x R, -x R), of equal ones the first
 *
 *   order: by bucket, then by position
 *
 *   score: scale * x[i] . x[j] / |x[j]|
 *
 * R has random numbers, buckets / 2 columns of them: for each round, the transpose of what
 * fovea_nn_random_features_draw() draws with `orthogonal` 0 (fovea/performer.h), or a model's own.
 *
 * A row sees itself only if no round shows it another one; its result then is its value. (Other implementations
 * give a row's score with itself a penalty of 5e4 or 1e5, of which no other weight is left in f32.) The last chunk
 * of a round may be shorter than the others, so any length will do.
 *
 * Takes O(rounds * length * dim * (4 * bucket_size + buckets / 2)) time. With buckets of length / bucket_size, as
 * the papers have them, the products with R grow with length^2; with two bucket_factors, with length^1.5 / 8.
 * Sorting takes O(rounds * (length + buckets)), memory O(length * (dim + rounds * v_dim)) for a head at a time. */

/* Which chunk comes before the first one of a round. FOVEA_NN_LSH_ACROSS_ROUNDS: the last one of the round before,
 * and of the last round before round 0. FOVEA_NN_LSH_WITHIN_ROUND: the last one of the same round. If that is the
 * first one itself, there is none. */
typedef enum fovea_nn_lsh_ring { FOVEA_NN_LSH_ACROSS_ROUNDS = 0, FOVEA_NN_LSH_WITHIN_ROUND = 1 } fovea_nn_lsh_ring;

/* How rows are hashed, and what they see. Prepare it with fovea_nn_lsh_init(). The defaults are the defaults of
 * lucidrains' LSHAttention; trax and Hugging Face have a scale of 1 and an eps of 1e-6. */
typedef struct fovea_nn_lsh {
  size_t struct_size;        /* set by fovea_nn_lsh_init() */
  int64_t rounds;            /* of hashing, n_hashes, from 1 to 64 */
  int64_t bucket_size;       /* rows of a chunk, from 1 to 1024; the papers have 64 */
  int64_t buckets;           /* of a round, even, from 2 to 2^20; the papers have length / bucket_size */
  int64_t bucket_factors[2]; /* both even, their product is `buckets`: bucket a + bucket_factors[0] * b for the
                                buckets a and b of both. Default 0 and 0: not factorised */
  int causal;                /* 1: no row after the own one. Default 0 */
  int once;                  /* 1: of all places where a row meets another, only the first counts: rounds ascending,
                                the chunk before, then the own. That is the paper's N(i, j), and lucidrains'
                                allow_duplicate_attention=False. Default 0. Takes O(rounds) for each pair */
  fovea_nn_lsh_ring ring;    /* default FOVEA_NN_LSH_ACROSS_ROUNDS, as in lucidrains' and Hugging Face's code */
  double scale;              /* finite; default FOVEA_DEFAULT_NUMBER: 1/sqrt(dim) */
  double eps;                /* added to the mean square of a key before its root, from 1e-30 (default) to 1 */
} fovea_nn_lsh;

/* Sets these fields, and the others to their defaults, for rows of `dim`. Callers in C use fovea_nn_lsh_init(). */
FOVEA_NN_API void fovea_nn_lsh_init_sized(fovea_nn_lsh *lsh, size_t struct_size, int64_t rounds,
                                          int64_t bucket_size, int64_t buckets, int64_t dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_lsh_init(fovea_nn_lsh *lsh, int64_t rounds, int64_t bucket_size, int64_t buckets,
                                     int64_t dim) {
  fovea_nn_lsh_init_sized(lsh, sizeof *lsh, rounds, bucket_size, buckets, dim);
}

/* Returns the columns of R of one round: buckets / 2, or half the sum of both bucket_factors. 0 for NULL. */
FOVEA_NN_API int64_t fovea_nn_lsh_columns(const fovea_nn_lsh *lsh);

/* The tensors of LSH attention. Prepare it with fovea_nn_lsh_tensors_init(). */
typedef struct fovea_nn_lsh_tensors {
  size_t struct_size;                /* set by fovea_nn_lsh_tensors_init() */
  int64_t batch, heads, length;      /* at least 1; length from 0 to 2^30 */
  int64_t dim, v_dim;                /* at least 1; v_dim 0 (default): dim */
  const void *x;                     /* queries and keys, (batch, heads, length, dim) */
  const void *v;                     /* (batch, heads, length, v_dim) */
  void *y;                           /* the shape of v. It shares no byte with the range from the first to the last
                                        element of an input */
  fovea_type x_type, v_type, y_type; /* default FOVEA_F32 */
  fovea_strides x_strides, v_strides, y_strides; /* default: contiguous in the order of the shapes */

  /* R: f32 (dim, rounds, columns), the last two contiguous. With bucket_factors the columns of the first factor
   * stand before the columns of the second. `row` is the distance from dim to dim; batch and head are 0 by
   * default: all share R. */
  const float *rotations;
  fovea_strides rotation_strides; /* default {0, 0, rounds * columns} */

  const int64_t *lens;     /* `batch` numbers from 0 to length: a sequence has the bits that it has alone, and rows
                              after it become zeros. NULL (default): length */
  int64_t *bucket_numbers; /* (batch, heads, rounds, length), contiguous: the bucket of each row, -1 after a
                              sequence. NULL (default): not wanted */
} fovea_nn_lsh_tensors;

/* Sets these fields, and the others to their defaults, for tensors of `dim` that `lsh` is for. Callers in C use
 * fovea_nn_lsh_tensors_init(). */
FOVEA_NN_API void fovea_nn_lsh_tensors_init_sized(fovea_nn_lsh_tensors *tensors, size_t struct_size,
                                                  const fovea_nn_lsh *lsh, int64_t batch, int64_t heads,
                                                  int64_t length, int64_t dim, const void *x, const void *v,
                                                  void *y, const float *rotations);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_lsh_tensors_init(fovea_nn_lsh_tensors *tensors, const fovea_nn_lsh *lsh, int64_t batch,
                                             int64_t heads, int64_t length, int64_t dim, const void *x,
                                             const void *v, void *y, const float *rotations) {
  fovea_nn_lsh_tensors_init_sized(tensors, sizeof *tensors, lsh, batch, heads, length, dim, x, v, y, rotations);
}

/* Computes LSH attention (docs/numerics.md, L17). Needs scratch (fovea_nn_lsh_scratch_size()), from `execution` or
 * else allocated, after a plan that measures it; so does fovea_nn_lsh_scratch_size(). `execution` and `error` may
 * be NULL. */
FOVEA_NN_API fovea_status fovea_nn_lsh_run(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                                           const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_lsh_scratch_size(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                                                    const fovea_execution *execution, size_t *size,
                                                    fovea_error *error);

/* ---- Selected keys ------------------------------------------------------------------------------------------- */

/* Keys that an indexer selects for each row (DeepSeek-AI, DeepSeek-V3.2, 2025, the lightning indexer): of the index
 * scores
 *
 *   I[t][s] = sum over index heads h of weights[t][h] * relu(q[t][h] . k[s])
 *
 * over the keys s that row t sees, the top_k largest. The lists are what fovea_rule_lists() takes, so attention
 * over them is a pattern of the problem, alone or joined to other rules:
 *
 *   fovea_nn_selection_init(&selection, batch, heads, q_len, kv_len, dim, 2048, q, k, weights, keys);
 *   fovea_nn_select(&selection, NULL, &error);
 *   for each batch element b: fovea_rule lists = fovea_rule_lists(offset, q_len, 2048, keys + b * q_len * 2048);
 *     fovea_pattern_options_init(&options, &lists, q_len, kv_len), options.first_row = offset;
 *     fovea_pattern_create(&options, &patterns[b], &error);
 *   problem.patterns = patterns;
 *
 * Nothing of q_len * kv_len numbers is made. Prepare it with fovea_nn_selection_init(). */
typedef struct fovea_nn_selection {
  size_t struct_size;                       /* set by fovea_nn_selection_init() */
  int64_t batch, heads, q_len, kv_len, dim; /* at least 1, the lengths at least 0; heads: of the indexer, at most
                                               2^16; kv_len at most 2^31 - 1 */
  int64_t top_k;                            /* 1 to FOVEA_TOP_K_LIMIT */
  const void *q;                            /* (batch, heads, q_len, dim) */
  const void *k;                            /* (batch, kv_len, dim), one for all heads */
  const float *weights; /* (batch, q_len, heads), with all factors of the scores in them; any sign */
  /* (batch, q_len, top_k), contiguous: positions of keys in descending order of I, equal ones in the order of
   * positions, NaN first; then -1, where a row sees fewer keys with an I above -Inf. Apart from all else. */
  int64_t *keys;
  fovea_type q_type, k_type; /* default FOVEA_F32 */
  /* Default: contiguous (batch, heads, q_len, dim), (batch, kv_len, dim), (batch, q_len, heads). `head` of the last
   * two is not used, and is 0. */
  fovea_strides q_strides, k_strides, weight_strides;
  /* Which keys a row sees, as in fovea_problem: keys before the sequence's length and, if causal, no key after its
   * own, row + offset. Default: causal 1, FOVEA_OFFSET_BOTTOM_RIGHT; NULL. An offset that is not set may not come
   * out negative (FOVEA_ERROR_ARGUMENT). */
  int causal;
  int64_t offset;         /* from -2^48 to 2^48; used with causal, else as by default */
  const int64_t *offsets; /* `batch` numbers in place of offset, which must keep its default; with causal */
  const int64_t *kv_lens; /* `batch` numbers from 0 to kv_len */
} fovea_nn_selection;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_selection_init(). */
FOVEA_NN_API void fovea_nn_selection_init_sized(fovea_nn_selection *selection, size_t struct_size, int64_t batch,
                                                int64_t heads, int64_t q_len, int64_t kv_len, int64_t dim,
                                                int64_t top_k, const void *q, const void *k, const float *weights,
                                                int64_t *keys);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_selection_init(fovea_nn_selection *selection, int64_t batch, int64_t heads,
                                           int64_t q_len, int64_t kv_len, int64_t dim, int64_t top_k, const void *q,
                                           const void *k, const float *weights, int64_t *keys) {
  fovea_nn_selection_init_sized(selection, sizeof *selection, batch, heads, q_len, kv_len, dim, top_k, q, k,
                                weights, keys);
}

/* Selects the keys. A row's list depends on nothing but the row and the keys that it sees (docs/numerics.md, L18).
 * Multiplications: heads * dim for each pair of a row and a key that it sees. Tiles of rows are shared out
 * over threads, and parts of the keys, if there are few rows.
 *
 * Needs scratch (fovea_nn_selection_scratch_size()), from `execution` or else allocated once: for each worker some
 * 400 KB and 200 bytes times top_k, and with more than 64 heads 4 (dim + 64) bytes times heads. */
FOVEA_NN_API fovea_status fovea_nn_select(const fovea_nn_selection *selection, const fovea_execution *execution,
                                          fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_selection_scratch_size(const fovea_nn_selection *selection,
                                                          const fovea_execution *execution, size_t *size,
                                                          fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
