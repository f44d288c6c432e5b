/* Linformer, differential attention, and multi-head latent attention (MLA).
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_LATENT_ATTENTION_H
#define FOVEA_LATENT_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Linformer ---------------------------------------------------------------------------------------------- */

/* Linformer (Wang et al., 2020): keys and values of all positions are projected along the length to k of each,
 * K' = E^T K and V' = F^T V, and queries attend exactly over these: softmax(scale * Q K'^T) V'. Time and memory
 * grow with length * k. E and F are (max_len, k); a shorter input uses their first rows, as in the public code of
 * lucidrains. Every number of K' is a sum over all positions, so there is nothing that a causal row could leave
 * out.
 *
 * The sharing of the paper: headwise, one pair for all heads (default); per head, with projection_head set; keys
 * and values, value_projection NULL; layers, the same pointers in all layers. Prepare it with
 * fovea_nn_linformer_init(). */
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

/* Computes attention of Q over the projected K and V, tensors that the caller's linear layers made. Of the problem
 * it uses sizes, strides, types, scale, softcap, sink, normaliser, scales and lengths; kv_len is at most max_len.
 * Keys and values at kv_lens[b] and beyond are not read, which has the bits of zeros there. Rules over positions
 * of keys, position terms, masks, caches and packed batches are refused: projected keys have no positions. Results
 * other than O and LSE are refused, too. Of the tensors it uses q, k, v, o, lse, sink, head_scales and row_scales.
 * The bits of a row do not depend on the rest of the batch, nor on threads (docs/numerics.md, L19).
 *
 * Multiplications: batch * (kv_heads * kv_len + heads * q_len) * k * (qk_dim + v_dim). Needs scratch
 * (fovea_nn_linformer_scratch_size()), from `execution` or else allocated by its allocator: 4 k (qk_dim + v_dim)
 * bytes for each kv head and 2,048 keys, and the scratch of attention over k keys. */
FOVEA_NN_API fovea_status fovea_nn_linformer_run(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                                 const fovea_tensors *tensors, const fovea_execution *execution,
                                                 fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_linformer_scratch_size(const fovea_nn_linformer *linformer,
                                                          const fovea_problem *problem,
                                                          const fovea_execution *execution, size_t *size,
                                                          fovea_error *error);

/* ---- Differential attention --------------------------------------------------------------------------------- */

/* Differential attention (Ye et al., Differential Transformer, 2024): for each head
 *
 *   o = (softmax(scale * Q1 K1^T) - lambda * softmax(scale * Q2 K2^T)) V
 *   o = RMSNorm(o) * gamma * (1 - lambda_init)
 *
 * Values of a head often have twice the dim of its queries. In the public code queries and keys are (rows, 2
 * heads, dim), and head h has their heads 2 h and 2 h + 1: two views, whose head stride is 2 dim. (With fewer kv
 * heads the code pairs them so in its FlashAttention form only; its plain form gives both queries of a head one
 * key.)
 *
 * Prepare it with fovea_nn_differential_init(). */
typedef struct fovea_nn_differential {
  size_t struct_size; /* set by fovea_nn_differential_init() */
  double lambda;      /* of the layer: any finite number; fovea_nn_differential_lambda() computes it */
  double lambda_init; /* any finite number; the paper's is 0.8 - 0.6 e^(-0.3 depth), depth 0 first */
  double eps;         /* of the norm; default 1e-5, as in the public code. From 0 to 3.4e38 */
  const float *gamma; /* v_dim factors of the norm; NULL (default): none */
} fovea_nn_differential;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_differential_init(). */
FOVEA_NN_API void fovea_nn_differential_init_sized(fovea_nn_differential *differential, size_t struct_size,
                                                   double lambda, double lambda_init);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_differential_init(fovea_nn_differential *differential, double lambda,
                                              double lambda_init) {
  fovea_nn_differential_init_sized(differential, sizeof *differential, lambda, lambda_init);
}

/* Computes *lambda = e^(q1 . k1) - e^(q2 . k2) + lambda_init of a layer's four vectors of `dim` numbers, the
 * public code's lambda_q1, lambda_k1, lambda_q2 and lambda_k2. `error` may be NULL. FOVEA_ERROR_ARGUMENT, for
 * instance if lambda_init is beyond f32. */
FOVEA_NN_API fovea_status fovea_nn_differential_lambda(int64_t dim, const float *q1, const float *k1,
                                                       const float *q2, const float *k2, double lambda_init,
                                                       float *lambda, fovea_error *error);

/* Runs both attentions of a problem, with its rules, masks, caches, types and strides, and writes their normalised
 * difference to first->o. `first` has Q1, K1 and V (or cache.sequences) and O, `second` has Q2, K2 and V (or
 * sequences of its own), and o NULL; what else the problem needs (mask, sink, terms) is in both. There is no LSE.
 * Results other than O are refused. A row that sees no key gets zeros, if eps is not 0.
 *
 * Takes the time of two attentions. Needs scratch (fovea_nn_differential_scratch_size()), from `execution` or else
 * allocated by its allocator: twice O in f32, and the scratch of an attention. */
FOVEA_NN_API fovea_status fovea_nn_differential_run(const fovea_nn_differential *differential,
                                                    const fovea_problem *problem, const fovea_tensors *first,
                                                    const fovea_tensors *second, const fovea_execution *execution,
                                                    fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_differential_scratch_size(const fovea_nn_differential *differential,
                                                             const fovea_problem *problem,
                                                             const fovea_execution *execution, size_t *size,
                                                             fovea_error *error);

/* ---- Multi-head latent attention ---------------------------------------------------------------------------- */

/* What multi-head latent attention multiplies. Both forms are the same function of the same cache. Their bits
 * differ, since they add up in another order; docs/numerics.md, L20, bounds the difference. */
typedef enum fovea_nn_latent_form {
  /* Keys and values of all heads are made of the cached rows, and each query head attends over its own: the fewest
   * multiplications for a prompt. Scratch holds them for all positions. */
  FOVEA_NN_LATENT_EXPANDED = 0,
  /* kv_b_proj is applied to queries and outputs instead, and all heads attend over the cached rows themselves, as
   * one kv head whose values are the first part of its keys: the fewest bytes for a step of decoding. */
  FOVEA_NN_LATENT_ABSORBED = 1
} fovea_nn_latent_form;

/* Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, 2024), with the names of its public code:
 *
 *   q = q_b_proj(q_a_layernorm(q_a_proj(x)))     heads of [q_nope | q_rope]; without q_a_proj: q = q_b_proj(x)
 *   c | k_rope = kv_a_proj(x), c = kv_a_layernorm(c)
 *   k_nope | v of each head = kv_b_proj(c)
 *   q_rope, k_rope rotated; one k_rope for all heads; scores (q_nope . k_nope + q_rope . k_rope) * scale
 *   y = o_proj(heads of o)
 *
 * A cache holds only the rows [c | k_rope] of kv_lora_rank + qk_rope_head_dim numbers. Prepare it with
 * fovea_nn_latent_init(), then set the layers. */
typedef struct fovea_nn_latent {
  size_t struct_size; /* set by fovea_nn_latent_init() */
  /* All at least 1, but for qk_rope_head_dim: 0 or more, even. */
  int64_t heads, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  const fovea_nn_linear *q_a_proj;    /* NULL (default): none */
  const fovea_nn_norm *q_a_layernorm; /* of q_a_proj's outputs, an RMS norm; NULL (default): none */
  const fovea_nn_linear *q_b_proj;  /* heads * (qk_nope_head_dim + qk_rope_head_dim) outputs; q_proj without q_a */
  const fovea_nn_linear *kv_a_proj; /* kv_lora_rank + qk_rope_head_dim outputs: kv_a_proj_with_mqa */
  const fovea_nn_norm *kv_a_layernorm; /* of kv_lora_rank numbers, an RMS norm; NULL (default): none */
  const fovea_nn_linear *kv_b_proj;    /* heads * (qk_nope_head_dim + v_head_dim) outputs, in rows, without bias */
  const fovea_nn_linear *o_proj;       /* takes heads * v_head_dim */
  const fovea_rotary *rotary; /* of qk_rope_head_dim, which DeepSeek rotates interleaved; NULL (default): none */
  fovea_nn_latent_form form;  /* default FOVEA_NN_LATENT_EXPANDED */
  /* What fovea_nn_latent_absorb() wrote; needed with FOVEA_NN_LATENT_ABSORBED, else NULL (default). */
  const void *absorbed;
} fovea_nn_latent;

/* Sets these sizes, and the other fields to their defaults. Callers in C use fovea_nn_latent_init(). */
FOVEA_NN_API void fovea_nn_latent_init_sized(fovea_nn_latent *latent, size_t struct_size, int64_t heads,
                                             int64_t kv_lora_rank, int64_t qk_nope_head_dim,
                                             int64_t qk_rope_head_dim, int64_t v_head_dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_latent_init(fovea_nn_latent *latent, int64_t heads, int64_t kv_lora_rank,
                                        int64_t qk_nope_head_dim, int64_t qk_rope_head_dim, int64_t v_head_dim) {
  fovea_nn_latent_init_sized(latent, sizeof *latent, heads, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim,
                             v_head_dim);
}

/* Sets *elements to how many elements of kv_b_proj's type the absorbed form needs. If kv_b_proj or a size is refused,
 * it returns the error, and *elements is 0. */
FOVEA_NN_API fovea_status fovea_nn_latent_absorbed_elements(const fovea_nn_latent *latent, int64_t *elements,
                                                            fovea_error *error);

/* Writes the weights of kv_b_proj as the absorbed form multiplies by them, without changing a bit: once, when a
 * model is loaded. Each head's part for keys is transposed, and both parts lie in panels. */
FOVEA_NN_API fovea_status fovea_nn_latent_absorb(const fovea_nn_latent *latent, void *absorbed, fovea_error *error);

/* The tensors of a layer. x and y have a row for each of batch * q_len positions; of packed batches q_len in
 * all. */
typedef struct fovea_nn_latent_tensors {
  size_t struct_size;                       /* set by fovea_nn_latent_tensors_init() */
  const void *x;                            /* (rows, inputs of kv_a_proj) */
  void *y;                                  /* (rows, o_proj->out). It may be x: that is read before y is written */
  const void *residual;                     /* (rows, o_proj->out), added to y. It may be x or y. NULL (default) */
  fovea_type x_type, y_type, residual_type; /* default FOVEA_F32 */
  int64_t x_stride, y_stride, residual_stride; /* elements from row to row. Default FOVEA_CONTIGUOUS */
  const void *mask;                            /* as in fovea_tensors */
  const float *sink;                           /* as in fovea_tensors */
  /* With a segmented cache: caches that the rows [c | k_rope] are appended to, and that are then attended over. A
   * segment has one kv head, keys in rows of kv_lora_rank + qk_rope_head_dim (at least 2), and v NULL, or k itself
   * as fovea_pages makes it. */
  fovea_tensors_cache cache;
  /* Positions of the rows, for rotary embedding and caches. Default 0 and NULL; at most one is set. */
  int64_t first_position;
  const int64_t *first_positions;
  const int64_t *rotary_positions; /* as in fovea_nn_attention_tensors */
} fovea_nn_latent_tensors;

/* Sets x and y, and the others to their defaults. Callers in C use fovea_nn_latent_tensors_init(). */
FOVEA_NN_API void fovea_nn_latent_tensors_init_sized(fovea_nn_latent_tensors *tensors, size_t struct_size,
                                                     const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_latent_tensors_init(fovea_nn_latent_tensors *tensors, const void *x, void *y) {
  fovea_nn_latent_tensors_init_sized(tensors, sizeof *tensors, x, y);
}

/* Computes a layer. The problem describes the heads: heads and as many kv_heads, qk_dim of qk_nope_head_dim +
 * qk_rope_head_dim, v_dim of v_head_dim; it has the rules, mask, scale, softcap, sink, lists of lengths, and
 * cache.segmented, and types and strides by default. Its scale is 1 / sqrt(qk_dim) by default; set scale to this
 * default times YaRN's mscale^2 if the model has it. Without caches kv_len is q_len, and rows may not be packed.
 * The expanded form reads a cache from position 0 on, so it excludes kv_begins.
 *
 * In each form a row has the same bits in a prompt, in any chunks of it, and in steps of decoding from a cache of
 * the same type: what lies in the cache is all that later rows see of earlier ones.
 *
 * Needs scratch (fovea_nn_latent_scratch_size()), from `execution` or else allocated by its allocator,
 * after a plan that measures it; so does fovea_nn_latent_scratch_size(). A call that is refused has written neither
 * y nor a cache. Multiplications, of attention alone, for R rows and L keys: expanded heads * L * (rank * (nope +
 * v) + R * (nope + rope + v)), absorbed heads * R * (rank * (nope + v) + L * (2 rank + rope)). */
FOVEA_NN_API fovea_status fovea_nn_latent_run(const fovea_nn_latent *latent, const fovea_problem *problem,
                                              const fovea_nn_latent_tensors *tensors,
                                              const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. Segments are counted in
 * `tensors`, of which nothing else is used; NULL: none. */
FOVEA_NN_API fovea_status fovea_nn_latent_scratch_size(const fovea_nn_latent *latent, const fovea_problem *problem,
                                                       const fovea_nn_latent_tensors *tensors,
                                                       const fovea_execution *execution, size_t *size,
                                                       fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
