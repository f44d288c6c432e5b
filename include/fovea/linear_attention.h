/* Linear attention and its gated and delta family: a state of fixed size instead of keys and values.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md, L14, states the arithmetic.
 *
 * Each head has a state S of (k_dim, v_dim) numbers, and takes its tokens in order (Katharopoulos et al., 2020):
 *
 *   S = S + k v^T              the state learns v for the key k
 *   o = scale S^T q            and tells what it has for the query q
 *
 * With a decay the state forgets before (GLA, Yang et al., 2023; RetNet; Mamba-2). With the delta rule (DeltaNet,
 * Yang et al., 2024) it learns the difference between v and what it had for k. ONNX LinearAttention (opset 27) is
 * this family, without beta for the rules without delta. */
#ifndef FOVEA_LINEAR_ATTENTION_H
#define FOVEA_LINEAR_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a token does to the state, with g = exp(decay) of the token, and b its beta, 1 without one. */
typedef enum fovea_nn_update_rule {
  FOVEA_NN_UPDATE_LINEAR = 0,     /* S = S + k (b v)^T */
  FOVEA_NN_UPDATE_GATED = 1,      /* S = g S + k (b v)^T */
  FOVEA_NN_UPDATE_DELTA = 2,      /* S = S + k (b (v - S^T k))^T */
  FOVEA_NN_UPDATE_GATED_DELTA = 3 /* S = g S, then as DELTA */
} fovea_nn_update_rule;

/* A kind of linear attention. Prepare it with fovea_nn_linear_attention_init().
 *
 * Gated DeltaNet (Qwen3-Next): GATED_DELTA, q_heads and k_heads fewer than heads, unit 1.
 *
 * Mamba-2 (Dao & Gu, 2024): GATED, scale 1; q is C, k is B, v is x, with as many q_heads and k_heads as groups;
 * beta is dt after softplus, decay is the same tensor, decay_factors are A, and skip is D. Mamba's state h is the
 * transpose of S. */
typedef struct fovea_nn_linear_attention {
  size_t struct_size;        /* set by fovea_nn_linear_attention_init() */
  fovea_nn_update_rule rule; /* what a token does to the state */
  int64_t heads;             /* of v, of the state, of decay and of beta; at least 1 */
  int64_t k_dim, v_dim;      /* of q and k; of v and o. At least 1 */
  /* Heads of q and of k; 0 (default): `heads`. Fewer must divide `heads`: head h has head h / (heads / k_heads) of
   * k. q_heads may also be a multiple of `heads`: query head h reads state h / (q_heads / heads), and o has q_heads
   * heads. */
  int64_t q_heads, k_heads;
  double scale; /* of o; default FOVEA_DEFAULT_NUMBER: 1 / sqrt(k_dim). Finite as f32 */
  int per_dim;  /* 1: each dim of k has a decay of its own (GLA, KDA); 0 (default): a token of a head has one */
  int unit;     /* 1: each row of q and of k is divided by sqrt(sum of its squares + unit_eps); 0 (default): no */
  double unit_eps; /* with unit; default: 1e-6, as fla's l2norm. From 0 on */
} fovea_nn_linear_attention;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_linear_attention_init(). */
FOVEA_NN_API void fovea_nn_linear_attention_init_sized(fovea_nn_linear_attention *attention, size_t struct_size,
                                                       fovea_nn_update_rule rule, int64_t heads, int64_t k_dim,
                                                       int64_t v_dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_linear_attention_init(fovea_nn_linear_attention *attention, fovea_nn_update_rule rule,
                                                  int64_t heads, int64_t k_dim, int64_t v_dim) {
  fovea_nn_linear_attention_init_sized(attention, sizeof *attention, rule, heads, k_dim, v_dim);
}

/* The tensors of some tokens. Strides count elements, and may have any order: the strides of ONNX's (batch,
 * tokens, heads * dim) are {tokens * heads * dim, dim, heads * dim}. Strides of inputs may be 0. */
typedef struct fovea_nn_linear_attention_tensors {
  size_t struct_size;    /* set by fovea_nn_linear_attention_tensors_init() */
  int64_t batch, tokens; /* at least 1; at least 0 */
  const void *q;         /* (batch, q_heads, tokens, k_dim) */
  const void *k;         /* (batch, k_heads, tokens, k_dim) */
  const void *v;         /* (batch, heads, tokens, v_dim) */
  void *o;               /* (batch, the larger of heads and q_heads, tokens, v_dim), apart from all inputs */
  fovea_type q_type, k_type, v_type, o_type;                /* default FOVEA_F32 */
  fovea_strides q_strides, k_strides, v_strides, o_strides; /* default: contiguous */

  /* Log of what the state is multiplied by, for GATED and GATED_DELTA, which need it: (batch, heads, tokens), with
   * per_dim (batch, heads, tokens, k_dim). Below -86.5 the state is forgotten at once. */
  const void *decay;
  fovea_type decay_type;       /* default FOVEA_F32 */
  fovea_strides decay_strides; /* default: contiguous */
  const float *decay_factors;  /* `heads` numbers that the decays of a head are multiplied by. NULL (default): 1 */

  /* (batch, heads, tokens): the rate of the delta rule, else a factor of v. One beta for all heads has the head
   * stride 0. NULL (default): 1. */
  const void *beta;
  fovea_type beta_type;       /* default FOVEA_F32 */
  fovea_strides beta_strides; /* default: contiguous */

  const float *skip; /* `heads` numbers: o has skip[head] * v more. NULL (default): none */

  /* The state before and after these tokens, (batch, heads, k_dim, v_dim), whose row is k_dim's axis. It is plain
   * memory: a copy of it is a fork of the sequence. NULL (default): past is zeros, present is not wanted. Both may
   * be the same memory with the same strides; else present is apart from all inputs. */
  const float *past;
  float *present;
  fovea_strides past_strides, present_strides; /* default: contiguous */

  /* Padded batches: sequence b has the tokens 0 to token_lens[b] - 1, and its state ends there. Later tokens are
   * not read, whatever they hold, and their rows of o become 0. `batch` int64, each from 0 to `tokens`. NULL
   * (default): each sequence has `tokens` tokens. */
  const int64_t *token_lens;

  /* Packed batches: sequence b is tokens cu_seqlens[b] to cu_seqlens[b + 1] - 1 of tensors (1, heads, tokens,
   * dim), and has a state of its own: past and present are (batch, ...) as ever. `batch` + 1 int32 from 0 to
   * `tokens` that never decrease. Tokens of no sequence are not read, and their rows of o are not written. NULL
   * (default): padded. cu_seqlens excludes token_lens. */
  const int32_t *cu_seqlens;
} fovea_nn_linear_attention_tensors;

/* Sets these fields, and the others to their defaults, with the strides of what `attention` takes. Callers in C use
 * fovea_nn_linear_attention_tensors_init(). */
FOVEA_NN_API void fovea_nn_linear_attention_tensors_init_sized(fovea_nn_linear_attention_tensors *tensors,
                                                               size_t struct_size,
                                                               const fovea_nn_linear_attention *attention,
                                                               int64_t batch, int64_t tokens, const void *q,
                                                               const void *k, const void *v, void *o);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_linear_attention_tensors_init(fovea_nn_linear_attention_tensors *tensors,
                                                          const fovea_nn_linear_attention *attention, int64_t batch,
                                                          int64_t tokens, const void *q, const void *k,
                                                          const void *v, void *o) {
  fovea_nn_linear_attention_tensors_init_sized(tensors, sizeof *tensors, attention, batch, tokens, q, k, v, o);
}

/* Takes the tokens in order, and computes o for each after it. Tokens in one call, in chunks of any sizes or one by
 * one, where each call's past is the present of the call before, have the same bits. Columns of v do not depend on
 * each other, and are shared by threads.
 *
 * Complexity: batch * heads * tokens * k_dim * v_dim times 2 multiplications and additions, with a decay one
 * multiplication more, with the delta rule one multiplication and addition more, and one for each further query of
 * a state. Memory beside the tensors does not grow with the number of tokens.
 *
 * Sequences do not depend on each other: a sequence of a padded or packed batch has the bits of a call of its own.
 *
 * Needs scratch (fovea_nn_linear_attention_scratch_size()), from `execution` or else allocated by
 * its allocator: for each worker one head's state and some tokens as f32. */
FOVEA_NN_API fovea_status fovea_nn_linear_attention_run(const fovea_nn_linear_attention *attention,
                                                        const fovea_nn_linear_attention_tensors *tensors,
                                                        const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. The tensors are checked as
 * well. */
FOVEA_NN_API fovea_status fovea_nn_linear_attention_scratch_size(const fovea_nn_linear_attention *attention,
                                                                 const fovea_nn_linear_attention_tensors *tensors,
                                                                 const fovea_execution *execution, size_t *size,
                                                                 fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
