/* Attention over fewer numbers: Linformer, multi-head latent attention; and differential attention.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_LATENT_ATTENTION_H
#define FOVEA_LATENT_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Linformer ----------------------------------------------------------------------------------------------- */

/* Linformer (Wang et al., 2020): keys and values of all positions are projected along the length to k of each,
 * K' = E^T K and V' = F^T V, and queries attend exactly over these: softmax(scale * Q K'^T) V'. Time and memory grow
 * with length * k. E and F are (max_len, k); a shorter input uses their first rows, as in the public code of
 * lucidrains. Every number of K' is a sum over all positions, so there is nothing that a causal row could leave out.
 *
 * The sharing of the paper: headwise, one pair for all heads (default); per head, with projection_head set; keys and
 * values, value_projection NULL; layers, the same pointers in all layers. Prepare it with fovea_nn_linformer_init().
 */
typedef struct fovea_nn_linformer {
  size_t struct_size;           /* set by fovea_nn_linformer_init() */
  int64_t max_len;              /* rows of E and of F, at least 1: the longest input */
  int64_t k;                    /* projected keys, at least 1 and at most 2^31 - 1 */
  const void *key_projection;   /* E */
  const void *value_projection; /* F; NULL (default): E */
  fovea_type type;              /* of E and F; default FOVEA_F32 */
  /* Elements of E and F from row to row (default: k), and from kv head to kv head: 0 (default): one pair for all
   * heads; max_len * k: contiguous (kv_heads, max_len, k). */
  int64_t projection_row, projection_head;
} fovea_nn_linformer;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_linformer_init(). */
FOVEA_NN_API void fovea_nn_linformer_init_sized(fovea_nn_linformer *linformer, size_t struct_size, int64_t max_len,
                                                int64_t k, const void *key_projection);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_linformer_init(fovea_nn_linformer *linformer, int64_t max_len, int64_t k,
                                           const void *key_projection) {
  fovea_nn_linformer_init_sized(linformer, sizeof *linformer, max_len, k, key_projection);
}

/* Computes attention of Q over the projected K and V, tensors that the caller's linear layers made. Of the problem it
 * uses sizes, strides, types, scale, softcap, sink, normaliser, scales, lengths and `isa`; kv_len is at most
 * max_len. Keys and values at kv_lens[b] and beyond are not read, which has the bits of zeros there. Rules over
 * positions of keys, position terms, masks, caches and packed batches are refused: projected keys have no positions;
 * so are results other than O and LSE. Of the tensors it uses q, k, v, o, lse, sinks and scales. The bits of a row
 * do not depend on the rest of the batch, nor on threads (docs/numerics.md, L19).
 *
 * Multiplications: batch * (kv_heads * kv_len + heads * q_len) * k * (qk_dim + v_dim). Needs scratch
 * (fovea_nn_linformer_scratch_size()), from `execution` or else allocated by the problem's allocator: 4 k (qk_dim +
 * v_dim) bytes for each kv head and 2,048 keys, and that of attention over k keys. */
FOVEA_NN_API fovea_status fovea_nn_linformer_run(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                                 const fovea_tensors *tensors, const fovea_execution *execution,
                                                 fovea_error *error);

/* Returns the bytes of scratch for `workers` workers (0: fovea_default_threads()); 0 if the sizes or the problem
 * would be refused. */
FOVEA_NN_API size_t fovea_nn_linformer_scratch_size(const fovea_nn_linformer *linformer,
                                                    const fovea_problem *problem, int workers);

#ifdef __cplusplus
}
#endif

#endif
