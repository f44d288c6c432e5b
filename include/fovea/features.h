/* The optional features of attention. Each is a group of fields, with the same name in fovea_problem, which says
 * what is planned, and in fovea_tensors, which has what a run brings for it. A group that is as the initialisers
 * leave it stands for a problem without the feature. docs/numerics.md states the arithmetic of each. fovea/fovea.h
 * includes this header.
 *
 * No group gets a field after the first release: a new feature is a new group at the end of both structs. */
#ifndef FOVEA_FEATURES_H
#define FOVEA_FEATURES_H

#include <fovea/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Which keys are visible --------------------------------------------------------------------------------- */

/* Chunks, truncated attention for streaming: keys lie in chunks of `size` positions (chunk number floor(position /
 * size)). A row sees the chunk of its own key, `left` keys before this chunk and `right` keys after it. */
typedef struct fovea_problem_chunks {
  int64_t size;        /* 0 (default): no chunks */
  int64_t left, right; /* 0 (default) or more, or FOVEA_UNLIMITED; only with a size */
} fovea_problem_chunks;

/* For every batch element, query head, row and key, a mask tensor says whether the key is visible to the row, or
 * what is added to the key's score. A row sees a key if the mask and all other rules allow it.
 *   BOOL            one byte each; 0: not visible, anything else: visible;
 *   BITS            one bit each, key j in bit j % 8 (the lowest is 0) of byte j / 8; 0: not visible;
 *   F32, F16, BF16  added to scale * q.k (after the softcap); -Inf: not visible. */
typedef enum fovea_mask_type {
  FOVEA_MASK_NONE = 0, /* the other rules decide alone */
  FOVEA_MASK_BOOL = 1,
  FOVEA_MASK_BITS = 2,
  FOVEA_MASK_F32 = 3,
  FOVEA_MASK_F16 = 4,
  FOVEA_MASK_BF16 = 5
} fovea_mask_type;

/* Distances between neighbours of a mask along each axis, in elements of the mask. Elements of BITS are bits, and
 * batch, head and row are then multiples of 8. 0 repeats the mask along that axis; key is 1 or 0. */
typedef struct fovea_mask_strides {
  int64_t batch, head, row, key;
} fovea_mask_strides;

/* For batch element b, query head h, row i and key begin + j, the mask has element b * batch + h * head + i * row +
 * j * key. With packed batches rows and keys count from the sequence's first. For keys before `begin` the other
 * rules decide alone, and nothing is added to their scores; no byte before the mask's first element is read. Rows
 * may share elements: batch, head and row strides may be any numbers. */
typedef struct fovea_problem_mask {
  fovea_mask_type type;       /* default FOVEA_MASK_NONE, which uses none of the other fields */
  fovea_mask_strides strides; /* default: FOVEA_CONTIGUOUS; see fovea_mask_layout() */
  /* How many keys the mask has: 0 to kv_len - begin (with begins: 0 to kv_len). Keys after them are not visible.
   * FOVEA_UNLIMITED (default): the mask has all keys from its first on. */
  int64_t keys;
  /* The key of the first element of a mask row, 0 (default) to kv_len: for example the first key that a ring holds,
   * or the first key of a tree of drafts. */
  int64_t begin;
  /* NULL (default), or `batch` int64 in place of `begin`, each from 0 to the sequence's kv length. Making a plan
   * copies them. */
  const int64_t *begins;
} fovea_problem_mask;

/* Returns the strides of a contiguous mask of this shape. An extent of 1 is repeated along its axis, as in numpy.
 * Rows of bits begin at whole bytes. */
FOVEA_API fovea_mask_strides fovea_mask_layout(fovea_mask_type type, int64_t batch, int64_t heads, int64_t rows,
                                               int64_t keys);

/* Keys and values in segments of caches: fovea/cache.h. */
typedef struct fovea_problem_cache {
  /* 1: K and V are in tensors.cache.sequences. k_type, v_type, k_strides, v_strides and cu_seqlens_kv are then not
   * used, and kv_len is the length of the longest sequence, in positions. Default 0. */
  int segmented;
  /* 1: sequences may have holes. A key at a position that no segment holds does not exist: no row sees it, and the
   * result has the bits of a sequence with any key and value there that a mask hides. Positions, rules and masks
   * count holes. The last segment still reaches the sequence's kv length, so that a page that was forgotten is not
   * taken for a hole. fovea_plan_explain() knows no holes. Needs `segmented`. Default 0: holes are refused. */
  int holes;
} fovea_problem_cache;

/* The sequences of a batch, fovea/cache.h. */
typedef struct fovea_sequence fovea_sequence;

/* What a run reads of a segmented cache. */
typedef struct fovea_tensors_cache {
  const fovea_sequence *sequences; /* one for each batch element; needed with a segmented cache, else NULL */
  int64_t layer;                   /* which layer of every segment is read, from 0. Default 0 */
} fovea_tensors_cache;

/* ---- Scores ------------------------------------------------------------------------------------------------- */

/* What is applied to q.k before anything else. Graph attention (Velickovic et al., GAT, 2018) has scores
 * LeakyReLU(u_i + v_j) with a slope of 0.2: q = (u_i, 1), k = (1, v_j), a scale of 1. */
typedef enum fovea_score_activation {
  FOVEA_SCORE_ACTIVATION_NONE = 0,      /* nothing */
  FOVEA_SCORE_ACTIVATION_LEAKY_RELU = 1 /* r where r = q.k is above 0, else leaky_slope * r */
} fovea_score_activation;

/* Applied to q.k, before scale and softcap. Scores of kind FOVEA_SCORES_RAW are from before it. Not with
 * FOVEA_SHAW_KEYS. */
typedef struct fovea_problem_activation {
  fovea_score_activation kind; /* default FOVEA_SCORE_ACTIVATION_NONE */
  double leaky_slope;          /* with LEAKY_RELU: from 0 (default: plain ReLU) to below 1 */
} fovea_problem_activation;

/* Whether scores have scales of their own for each head or row, in place of one scale. */
typedef enum fovea_scales {
  FOVEA_SCALES_NONE = 0,     /* `scale` of the problem */
  FOVEA_SCALES_PER_HEAD = 1, /* the head's scale, tensors.head_scales, in place of `scale` */
  FOVEA_SCALES_PER_ROW = 2,  /* `scale` times the row's scale, tensors.row_scales */
  FOVEA_SCALES_BOTH = 3      /* the head's scale times the row's */
} fovea_scales;

/* A term of scores that depends on positions only: fovea/terms.h. */
typedef struct fovea_position_term fovea_position_term;

/* Terms are added to scores in the order of the list, before the mask. fovea_problem_set_terms() sets all three
 * fields. Making a plan copies the array. tensors.terms has the numbers of the terms. */
typedef struct fovea_problem_terms {
  const fovea_position_term *list; /* NULL (default): none */
  int64_t count;                   /* 0 (default) to FOVEA_POSITION_TERMS_LIMIT */
  size_t size;                     /* bytes from one term to the next */
} fovea_problem_terms;

/* Relative position representations (Shaw et al., 2018): vectors for every distance from a row's own key to a key.
 * All distances beyond `distance` have the vector of `distance`. There may be one table or two:
 *   KEYS     the vector of the distance is added to the key:    q . (k + a)
 *   VALUES   the vector of the distance is added to the value:  sum of p * (v + a)
 * Nothing of rows times keys times dims is made. */
typedef enum fovea_shaw {
  FOVEA_SHAW_NONE = 0,   /* no tables */
  FOVEA_SHAW_KEYS = 1,   /* tensors.shaw.keys */
  FOVEA_SHAW_VALUES = 2, /* tensors.shaw.values */
  FOVEA_SHAW_BOTH = 3    /* both tables */
} fovea_shaw;

/* The largest distance of Shaw's vectors. */
#define FOVEA_SHAW_DISTANCE_LIMIT 4096

/* The distance of a row and a key is the key's position less the position of the row's own key, as for position
 * terms. */
typedef struct fovea_problem_shaw {
  fovea_shaw kind;  /* default FOVEA_SHAW_NONE, which uses neither of the other fields */
  int64_t distance; /* 1 to FOVEA_SHAW_DISTANCE_LIMIT; default 0 */
  int64_t heads;    /* 1 (default): all query heads share a table; or the problem's heads: each has its own */
} fovea_problem_shaw;

/* f32 (shaw.heads, 2 shaw.distance + 1, qk_dim or v_dim), contiguous: the vectors of ascending distances. Each
 * table is needed if the problem's kind has it, else NULL. */
typedef struct fovea_tensors_shaw {
  const float *keys, *values; /* what is added to keys, and to values */
} fovea_tensors_shaw;

/* ---- Weights ------------------------------------------------------------------------------------------------ */

/* An attention sink is one more key of the softmax, with this score and a value of zero: exp(sink) is added to the
 * sum of weights, and to the sum whose logarithm LSE is. Rows that see no key still get zeros. */
typedef enum fovea_sink {
  FOVEA_SINK_NONE = 0,     /* weights sum to one */
  FOVEA_SINK_PER_HEAD = 1, /* tensors.sink has one number for each query head, in natural units like LSE */
  FOVEA_SINK_ZERO = 2      /* a sink of 0 for every head, "softmax-1": weights sum to less than one */
} fovea_sink;

/* How scores become weights. s is the score in natural units, after softcap and mask; a row's output is the sum of
 * weight * V over the keys that it sees, divided by its divisor. */
typedef enum fovea_normaliser {
  FOVEA_NORMALISER_SOFTMAX = 0,      /* exp(s), divided by the sum of weights */
  FOVEA_NORMALISER_RELU = 1,         /* max(s, 0) */
  FOVEA_NORMALISER_RELU_SQUARED = 2, /* max(s, 0)^2 */
  FOVEA_NORMALISER_SIGMOID = 3       /* 1 / (1 + exp(-(s + sigmoid_bias))) */
} fovea_normaliser;

/* What the output of a row is divided by, with a normaliser other than the softmax. Rows whose divisor is 0 get
 * zeros. */
typedef enum fovea_divisor {
  FOVEA_DIVISOR_NONE = 0,     /* 1 */
  FOVEA_DIVISOR_CONSTANT = 1, /* divisor_value */
  FOVEA_DIVISOR_KEYS = 2,     /* how many keys the row sees, by all rules and the mask; not with position terms */
  FOVEA_DIVISOR_SUM = 3       /* the sum of the row's weights */
} fovea_divisor;

/* A normaliser instead of the softmax. It has no LSE and no sink. A state has weights that are not divided yet: if
 * the result is a state, fovea_state_finish() divides them, and the divisor may not be KEYS. */
typedef struct fovea_problem_normaliser {
  fovea_normaliser kind; /* default FOVEA_NORMALISER_SOFTMAX, which uses none of the other fields */
  fovea_divisor divisor; /* default FOVEA_DIVISOR_NONE */
  double divisor_value;  /* with FOVEA_DIVISOR_CONSTANT: from 2^-126 to 2^127; else 0 (default) */
  double sigmoid_bias;   /* with the sigmoid: any number that f32 can hold; default 0. Often -log(keys) */
} fovea_problem_normaliser;

/* ---- Outputs beside O and LSE ------------------------------------------------------------------------------- */

/* What a run writes for each row and key: the weights of the values, or scores in natural units. Where a row does
 * not see a key, the weight is 0 and a score is -Inf. */
typedef enum fovea_score_output {
  FOVEA_SCORES_NONE = 0,    /* nothing */
  FOVEA_SCORES_WEIGHTS = 1, /* exp(score - LSE); of another normaliser, the weight over the row's divisor */
  FOVEA_SCORES_RAW = 2,     /* scale * q.k */
  FOVEA_SCORES_CAPPED = 3,  /* after activation and softcap; without these, raw */
  FOVEA_SCORES_BIASED = 4   /* after softcap, position terms and an additive mask: what the softmax takes */
} fovea_score_output;

/* A run also writes tensors.scores, f32 of shape (batch, heads, q_len, kv_len), with a row for each row of O. A
 * row of scores has kv_len numbers, key j at position j. With cu_seqlens_kv it has as many numbers as the longest
 * sequence has keys, and keys count from the sequence's first. O and LSE keep their bits. Scores other than
 * weights take a second product. Not if the result is a state. */
typedef struct fovea_problem_scores {
  fovea_score_output kind; /* default FOVEA_SCORES_NONE, which uses none of the other fields */
  fovea_strides strides;   /* default: contiguous, kv_len numbers a row */
  /* Only these query heads, rows and keys have scores; default: all. tensors.scores then has the shape (batch,
   * their heads, their rows, their keys), and its first element belongs to the first head, row and key of these
   * ranges. The default strides are still for kv_len numbers a row, so set strides, too. Rows count from the
   * sequence's first: with cu_seqlens_q and rows other than all, each sequence has a batch index of its own, and
   * rows that it does not have are not written. Scores outside the ranges cost nothing. The ranges lie within
   * heads, q_len, and the keys of a row of scores. */
  fovea_range heads, rows, keys;
} fovea_problem_scores;

/* The most keys that `top` finds. */
#define FOVEA_TOP_K_LIMIT 4096

/* The k keys with the largest scores of each row, as the softmax takes them. A run writes tensors.top.keys and,
 * unless NULL, tensors.top.scores, of shape (batch, heads, q_len, k), with a row for each row of O. Scores
 * descend, equal ones in the order of positions, NaN first (docs/numerics.md, step 10). Scores are in natural
 * units. If a row sees fewer keys, or others have scores of -Inf, -1 and -Inf follow. kv_len is at most 2^31 - 1.
 * Scratch grows by some 16 bytes for each of the k, for each row of a task's tiles. Not if the result is a
 * state. */
typedef struct fovea_problem_top {
  int64_t k;             /* 0 (default): not wanted; 1 to FOVEA_TOP_K_LIMIT */
  fovea_strides strides; /* of both tensors; default FOVEA_CONTIGUOUS */
} fovea_problem_top;

/* What a run writes for `top`. */
typedef struct fovea_tensors_top {
  int64_t *keys; /* positions of keys, from the sequence's first; needed with top.k, else NULL */
  float *scores; /* their scores; only with top.k, NULL: not wanted */
} fovea_tensors_top;

/* For each batch element, query head and key the sum of the weights that rows rows.begin to rows.end - 1 of the
 * element give it, in tensors.column_sums. The last rows are SnapKV's observation window. Sums are added up as
 * docs/numerics.md, step 12, says. Products with K are computed once more for these rows, and not counted by
 * fovea_run_counts(). Scratch grows by 8 bytes a row of Q for each head, and by some 70 KB for each worker. Not if
 * the result is a state. */
typedef struct fovea_problem_column_sums {
  int wanted;       /* 0 (default) or 1 */
  fovea_range rows; /* default: all */
} fovea_problem_column_sums;

/* ---- Arithmetic --------------------------------------------------------------------------------------------- */

/* The arithmetic of the scores (q.k) or of the values (weights and their products with V). Each has one answer of
 * its own on every CPU: docs/numerics.md, section 16. docs/modes.md says when to use which. */
typedef enum fovea_mode {
  FOVEA_MODE_EXACT = 0, /* f32 */
  /* What is multiplied is rounded to bf16 first; sums are f32. For CPUs with AMX (fovea_allow_amx()) or with fast
   * products of pairs (AMD's AVX512_BF16), and to reproduce their answers elsewhere, where it is slower than
   * exact mode. */
  FOVEA_MODE_BF16 = 1,
  /* What is multiplied is quantised to 8 bits first; sums of quantised values are exact. Each row of Q, K and V
   * has one f32 scale, its largest number / 127, and is quantised as it is read, whatever its type; rows that a
   * cache has quantised to i8 with one scale are used as they lie. A row does not depend on other rows, so
   * decoding has the bits of prefill. Weights, times the scales of their values, are quantised to 0 to 255 for
   * each 128 keys. For CPUs with products of bytes, AMX among them, and models that allow it. (SageAttention,
   * arXiv 2410.02367, computes scores in this way; channels.key_centre stands for its mean of the keys.) */
  FOVEA_MODE_INT8 = 2
} fovea_mode;

/* The modes of scores and values may differ. Modes other than EXACT go with everything but Shaw's vectors,
 * normalisers other than the softmax, `activation`, `scores`, `max_logits`, `top`, `entropy` and `column_sums`
 * (FOVEA_ERROR_UNUSED). With `score` in INT8 qk_dim is at most 1,032, and a row that sees a key with NaN or Inf is
 * NaN; with `value` in INT8 a row that sees such a value is NaN in all columns. */
typedef struct fovea_problem_modes {
  fovea_mode score, value; /* default FOVEA_MODE_EXACT */
} fovea_problem_modes;

/* Whether numbers for each channel (a dim of a head) are given, and for which heads. */
typedef enum fovea_channels {
  FOVEA_CHANNELS_NONE = 0,     /* none */
  FOVEA_CHANNELS_PER_HEAD = 1, /* each kv head has its own: (kv_heads, dims) */
  FOVEA_CHANNELS_SHARED = 2    /* all kv heads share one: (dims) */
} fovea_channels;

/* Numbers for each channel that help int8 mode, which the caller fixes before it sees the rows, for instance from
 * another text. Rows keep their scales, and one answer: docs/modes.md says what helps which model,
 * docs/numerics.md, section 16, what is computed.
 *   key_centre    is subtracted from every key before it is quantised. What that changes in scores is added again,
 *                 so O, LSE, sinks and states mean what they do without. Keys in i8 that are stored with a centre
 *                 of the same bits (k_scales.centre) are used as they lie. With modes.score INT8; not with softcap
 *   key_scale     multiplies every row of Q before it is quantised. The caller has divided K by it; key_centre
 *                 is the centre of the divided keys. With modes.score INT8
 *   value_scale   multiplies outputs. The caller has divided V by it. A state has it already, so
 *                 fovea_state_finish() does not need it. With modes.value INT8 */
typedef struct fovea_problem_channels {
  fovea_channels key_centre, key_scale, value_scale; /* default FOVEA_CHANNELS_NONE */
} fovea_problem_channels;

/* f32, contiguous: (kv_heads, qk_dim), value_scale (kv_heads, v_dim); with FOVEA_CHANNELS_SHARED (qk_dim) and
 * (v_dim). Each is needed if the problem has it, else NULL. NaN and infinities are not refused: one in key_centre
 * or key_scale makes every row that sees a key NaN, one in value_scale the outputs of its dim. */
typedef struct fovea_tensors_channels {
  const float *key_centre, *key_scale, *value_scale; /* as the problem has them */
} fovea_tensors_channels;

#ifdef __cplusplus
}
#endif

#endif
