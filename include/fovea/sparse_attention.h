/* Attention over some keys of each row: Longformer, BigBird, Reformer, and keys that an indexer selects.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_SPARSE_ATTENTION_H
#define FOVEA_SPARSE_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 *   for each entry b: fovea_rule lists = fovea_rule_lists(offset, q_len, 2048, keys + b * q_len * 2048);
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
  /* Which keys a row sees, as in fovea_problem: those before the entry's length and, if causal, none behind its own
   * key, row + offset. Default: causal 1, FOVEA_OFFSET_BOTTOM_RIGHT; NULL. */
  int causal;
  int64_t offset;            /* from -2^48 to 2^48; used with causal, else as by default */
  const int64_t *offsets;    /* `batch` numbers in place of offset, which must keep its default; with causal */
  const int64_t *kv_lens;    /* `batch` numbers from 0 to kv_len */
  const char *isa;           /* as in fovea_problem */
  fovea_allocator allocator; /* of scratch; default: malloc(), free() */
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
 * Needs scratch (fovea_nn_selection_scratch_size()), from `execution` or else allocated once: some 400 KB and 200
 * bytes times top_k for each worker. */
FOVEA_NN_API fovea_status fovea_nn_select(const fovea_nn_selection *selection, const fovea_execution *execution,
                                          fovea_error *error);

/* Returns the bytes of scratch for `workers` workers (0: fovea_default_threads()); 0 if the call would be refused.
 */
FOVEA_NN_API size_t fovea_nn_selection_scratch_size(const fovea_nn_selection *selection, int workers);

#ifdef __cplusplus
}
#endif

#endif
