/* Fovea: attention kernels for CPUs, with one answer.
 *
 * O = softmax(scale * Q K^T) V over the keys that a row may see, computed tile by tile with the online softmax of
 * Milakov & Gimelshein (2018) and Dao et al. (FlashAttention, 2022). The same inputs give the same bits on every
 * instruction set, for any number of threads, any batch and any layout; docs/numerics.md states the arithmetic.
 *
 * There are three ways to compute, and all run the same code:
 *   fovea_attention(), fovea_attend()       one call: for contiguous tensors; for all that fovea_problem describes;
 *   fovea_plan_create(), fovea_plan_run()   a plan serves all layers of a step. A step with other lengths, such as
 *                                           each step of decoding, needs a plan of its own;
 *   fovea_run_bind(), fovea_run_task()      single tasks of a plan, for engines whose own threads do the work.
 *
 * Sizes and strides of tensors count elements, not bytes. The library never prints, never ends the process, reads
 * no byte outside the elements that a problem names, and writes nothing but the outputs. If a field is set and
 * would not be used, the call fails with FOVEA_ERROR_UNUSED; each field says what it is used with. Threads may call
 * functions at the same time if no two calls write the same output or scratch.
 *
 * A thread may have any rounding mode, flush subnormals to zero and have traps unmasked: the results are the same.
 * A function that computes sets the floating-point environment of its thread and restores it at the end. Callbacks
 * run in the caller's environment. Exception flags that were set stay set; the library may set others.
 */
#ifndef FOVEA_FOVEA_H
#define FOVEA_FOVEA_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. fovea_version() returns the version of the library. */
#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0

#if defined(FOVEA_API) /* defined to nothing where parts of this library are built into another one */
#elif defined(_WIN32) && defined(FOVEA_SHARED)
#if defined(FOVEA_BUILDING)
#define FOVEA_API __declspec(dllexport)
#else
#define FOVEA_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define FOVEA_API __attribute__((visibility("default")))
#else
#define FOVEA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------------------------------------------- */

/* What a call returns: what a caller can branch on. fovea_error says which argument or field is meant, and why. If a
 * call does not return FOVEA_OK, it has written nothing to the outputs. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  /* An argument, a field, or what it points to is missing, out of range, or does not fit the others. */
  FOVEA_ERROR_ARGUMENT = 1,
  /* Something is set that would not be used: another setting is missing, or excludes it. */
  FOVEA_ERROR_UNUSED = 2,
  /* This build or this CPU does not have what is asked for. Another instruction set or another build may. */
  FOVEA_ERROR_UNSUPPORTED = 3,
  /* Memory of the caller's is too small or not aligned to FOVEA_SCRATCH_ALIGNMENT: scratch, memory for a plan, a run
   * or a stream, an array of segments, a table of pages. The call succeeds with more. */
  FOVEA_ERROR_SPACE = 4,
  /* An allocation failed, or a pool has too few free pages. */
  FOVEA_ERROR_MEMORY = 5
} fovea_status;

/* Returns a short constant text for a status, never NULL. */
FOVEA_API const char *fovea_status_text(fovea_status status);

/* The caller's buffer for what is wrong. It is written only if the call fails. Every function that takes such a
 * buffer accepts NULL. The text is one line that begins with the name of the argument or field, and gives its value,
 * the limit and what to do. `field` has that name alone, as C would write it: "q", "kv_lens[3]", "mask_strides.row",
 * "sequences[0].segments[2].k". It is empty if no argument or field is wrong: an allocation failed, or the CPU or the
 * system lacks something. Of two fields that do not fit each other it has one. Names that are too long are cut off. */
typedef struct fovea_error {
  fovea_status status; /* what the call returned */
  char field[60];      /* ends with a zero */
  char text[252];      /* ends with a zero */
} fovea_error;

/* ---- Describing a problem ----------------------------------------------------------------------------------- */

/* Distances in elements between neighbours along batch, head and row. These axes may have any order; the last axis
 * (the dimension) is always contiguous. 0 repeats an input along that axis. Strides may be negative: the tensor's
 * pointer always names the element with all indices 0. No two elements of an output may share memory. */
typedef struct fovea_strides {
  int64_t batch, head, row;
} fovea_strides;

/* As a stride: the distance that the axis has in a contiguous tensor of the shape that is stated, for the sizes
 * that the struct has when it is used. Initialisers set it, so sizes may be changed after them, and an axis may
 * keep it while another one is set. Every other number is a stride, 0 as well. */
#define FOVEA_CONTIGUOUS INT64_MIN

/* As a number: the default that is stated, for the sizes that the struct has when it is used. Initialisers set it.
 * Do not compute with it: a multiple of it is refused. Set 1 / sqrt(qk_dim) times a factor instead, or call
 * fovea_problem_resolve() first. */
#define FOVEA_DEFAULT_NUMBER 1.7976931348623157e308

/* How the elements of a tensor are stored. All arithmetic is f32. Elements of f16 (IEEE binary16) and bf16 are
 * widened exactly, and give the same bits as f32 elements of the same value. Results are rounded once, to nearest
 * even, and keep their subnormals. */
typedef enum fovea_type { FOVEA_F32 = 0, FOVEA_F16 = 1, FOVEA_BF16 = 2 } fovea_type;

/* For every batch entry, query head, row and key, a mask tensor says whether the row may see the key, or what is
 * added to the key's score. A row sees a key if the mask and all other rules allow it.
 *   BOOL            one byte each; 0: not seen, anything else: seen;
 *   BITS            one bit each, key j in bit j % 8 (the lowest is 0) of byte j / 8; 0: not seen;
 *   F32, F16, BF16  added to scale * q.k (after the softcap); -Inf: not seen. */
typedef enum fovea_mask_type {
  FOVEA_MASK_NONE = 0, /* the other rules decide alone */
  FOVEA_MASK_BOOL = 1,
  FOVEA_MASK_BITS = 2,
  FOVEA_MASK_F32 = 3,
  FOVEA_MASK_F16 = 4,
  FOVEA_MASK_BF16 = 5
} fovea_mask_type;

/* Distances between neighbours of a mask along each axis, in elements of the mask. Elements of BITS are bits, and
 * its batch, head and row are multiples of 8. 0 repeats the mask along that axis; key is 1 or 0. */
typedef struct fovea_mask_strides {
  int64_t batch, head, row, key;
} fovea_mask_strides;

/* An attention sink is one more key of the softmax, with this score and a value of zero: exp(sink) is added to the
 * sum of weights, and to the sum whose logarithm LSE is. Rows that see no key still get zeros. */
typedef enum fovea_sink {
  FOVEA_SINK_NONE = 0,     /* weights sum to one */
  FOVEA_SINK_PER_HEAD = 1, /* fovea_tensors.sinks has one number per query head, in natural units like LSE */
  FOVEA_SINK_ZERO = 2      /* a sink of 0 for every head, "softmax-1": weights sum to less than one */
} fovea_sink;

/* What a run writes for each row and key, besides O: the weights of the values, or scores in natural units. Where a
 * row does not see a key, the weight is 0 and a score is -Inf. */
typedef enum fovea_score_output {
  FOVEA_SCORES_NONE = 0,    /* nothing */
  FOVEA_SCORES_WEIGHTS = 1, /* exp(score - LSE); of another normaliser, the weight over the row's divisor */
  FOVEA_SCORES_RAW = 2,     /* scale * q.k */
  FOVEA_SCORES_CAPPED = 3,  /* after score_activation and softcap; without these, raw */
  FOVEA_SCORES_BIASED = 4   /* after softcap, position terms and an additive mask: what the softmax takes */
} fovea_score_output;

/* Which number b a position term adds to the score of a row and a key. All numbers are f32, and b has one rounding
 * at most. `own` is the position of the row's own key, row + offset (see fovea_problem), and d = key - own. */
typedef enum fovea_position_kind {
  /* slope * d (Press et al., ALiBi, 2022; the paper's slopes are positive). One slope for each head, or for each
   * batch entry and head. From 2^24 on, d is rounded to f32 first. */
  FOVEA_POSITION_ALIBI = 1,
  FOVEA_POSITION_ALIBI_SYMMETRIC = 2, /* slope * -|d| */
  /* A table of before + 1 + after numbers, for d = -before to d = after. What is farther has the first or the last.
   */
  FOVEA_POSITION_RELATIVE = 3,
  /* A table of `buckets` numbers (Raffel et al., T5, 2020). Distances from 0 up have one bucket each, those up to
   * max_distance share buckets that grow with the logarithm, all others have the last. If `bidirectional`, the
   * upper half of the buckets is for d > 0; else all these have bucket 0. docs/numerics.md says which, to the
   * integer. */
  FOVEA_POSITION_T5 = 4,
  /* Own positions and keys are cells of a grid (depth, height, width), the last axis innermost (Liu et al., Swin,
   * 2021). A table (2 depth - 1, 2 height - 1, 2 width - 1): along each axis, own coordinate less the key's, plus
   * extent - 1. */
  FOVEA_POSITION_GRID = 5
} fovea_position_kind;

/* A term of scores that depends on positions only. What it adds has the bits of an additive f32 mask that holds the
 * same b: after the softcap and before the mask; -Inf: the row does not see the key. Nothing of rows times keys is
 * made. Prepare it with one of the functions below, which set strides of contiguous numbers. Later versions add
 * fields at the end only, and their default is 0. */
typedef struct fovea_position_term {
  fovea_position_kind kind; /* which of the fields below are used; the others are 0 */
  /* Distances in elements between numbers of neighbouring batch entries, query heads and places of a table, from
   * the pointer in fovea_tensors.terms on; any sign. 0 repeats the numbers. ALIBI has no places. RELATIVE may have
   * FOVEA_CONTIGUOUS as `head`: before + 1 + after. */
  int64_t batch, head, place;
  int64_t before, after;         /* RELATIVE: 0 to 2^48 */
  int64_t buckets, max_distance; /* T5: from 2 (bidirectional: 4) on; more than the distances with a bucket of their
                                    own, which are half of the buckets of a direction, and below 2^31. The other
                                    buckets of a direction are at most 128, for all terms together */
  int bidirectional;             /* T5: 0 or 1 */
  int64_t depth, height, width;  /* GRID: at least 1. All own positions and all keys are cells */
} fovea_position_term;

/* The most position terms of a problem. */
#define FOVEA_POSITION_TERMS_LIMIT 4

/* One slope for each head. `symmetric` is 0 or 1. */
static inline fovea_position_term fovea_term_alibi(int symmetric) {
  fovea_position_term term = {
      symmetric ? FOVEA_POSITION_ALIBI_SYMMETRIC : FOVEA_POSITION_ALIBI, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return term;
}
/* A table (heads, before + 1 + after). */
static inline fovea_position_term fovea_term_relative(int64_t before, int64_t after) {
  fovea_position_term term = {FOVEA_POSITION_RELATIVE, 0, FOVEA_CONTIGUOUS, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  term.before = before;
  term.after = after;
  return term;
}
/* A table (buckets, heads), as T5 stores it. */
static inline fovea_position_term fovea_term_t5(int64_t heads, int64_t buckets, int64_t max_distance,
                                                int bidirectional) {
  fovea_position_term term = {FOVEA_POSITION_T5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  term.place = heads;
  term.buckets = buckets;
  term.max_distance = max_distance;
  term.bidirectional = bidirectional;
  return term;
}
/* A table (places, heads), as Swin stores it; depth is 1 for images. */
static inline fovea_position_term fovea_term_grid(int64_t heads, int64_t depth, int64_t height, int64_t width) {
  fovea_position_term term = {FOVEA_POSITION_GRID, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  term.place = heads;
  term.depth = depth;
  term.height = height;
  term.width = width;
  return term;
}

/* Whether scores have scales per head or row, in place of one scale. */
typedef enum fovea_scales {
  FOVEA_SCALES_NONE = 0,     /* `scale` of the problem */
  FOVEA_SCALES_PER_HEAD = 1, /* those of the row's head, fovea_tensors.head_scales, in place of `scale` */
  FOVEA_SCALES_PER_ROW = 2,  /* `scale` times that of the row, fovea_tensors.row_scales */
  FOVEA_SCALES_BOTH = 3      /* that of the head times that of the row */
} fovea_scales;

/* What q.k becomes before anything else is done to it. Graph attention (Velickovic et al., GAT, 2018) has scores
 * LeakyReLU(u_i + v_j) with a slope of 0.2: q = (u_i, 1), k = (1, v_j), a scale of 1. */
typedef enum fovea_score_activation {
  FOVEA_SCORE_ACTIVATION_NONE = 0,      /* it stays q.k */
  FOVEA_SCORE_ACTIVATION_LEAKY_RELU = 1 /* r where r = q.k is above 0, else leaky_slope * r */
} fovea_score_activation;

/* Relative position representations (Shaw et al., 2018): vectors for every distance from a row's own key to a key,
 * where all distances beyond shaw_distance have the vectors of shaw_distance. One of both tables, or both:
 *   KEYS     the vector of the distance is added to the key:    q . (k + a)
 *   VALUES   and to the value:                                  sum of p * (v + a)
 * Nothing of rows times keys times dims is made. docs/numerics.md, steps 1 and 3, states the arithmetic. */
typedef enum fovea_shaw {
  FOVEA_SHAW_NONE = 0,   /* no tables */
  FOVEA_SHAW_KEYS = 1,   /* fovea_tensors.shaw_keys */
  FOVEA_SHAW_VALUES = 2, /* fovea_tensors.shaw_values */
  FOVEA_SHAW_BOTH = 3    /* both tables */
} fovea_shaw;

/* The largest shaw_distance. */
#define FOVEA_SHAW_DISTANCE_LIMIT 4096

/* The arithmetic of the scores (q.k) or of the values (weights and their products with V). Each has one answer of
 * its own on every CPU: docs/numerics.md, section 16. docs/modes.md says when to use which. */
typedef enum fovea_mode {
  FOVEA_MODE_EXACT = 0, /* f32 */
  /* What is multiplied is rounded to bf16 first; sums are f32. For CPUs with AMX (fovea_allow_amx()) or with fast
   * products of pairs (AMD's AVX512_BF16), and to reproduce their answers elsewhere, where it is slower than
   * exact mode. */
  FOVEA_MODE_BF16 = 1,
  /* What is multiplied becomes codes of 8 bits first; sums of codes are exact. Each row of Q, K and V has one f32
   * scale, its largest number / 127, and is quantised as it is read, whatever its type; rows that a cache has as i8
   * codes with one scale are used as they lie. A row does not depend on other rows, so decoding has the bits
   * of prefill. Weights, times the scales of their values, are codes from 0 to 255 for each 128 keys. For CPUs with
   * products of bytes, AMX among them, and models that allow it. (Scores are those of SageAttention, arXiv
   * 2410.02367; key_centre stands for its mean of the keys.) */
  FOVEA_MODE_INT8 = 2
} fovea_mode;

/* Whether a vector of int8 mode is given, and how many there are. */
typedef enum fovea_vectors {
  FOVEA_VECTORS_NONE = 0,     /* none */
  FOVEA_VECTORS_PER_HEAD = 1, /* each kv head has its own: (kv_heads, dims) */
  FOVEA_VECTORS_SHARED = 2    /* all kv heads share one: (dims) */
} fovea_vectors;

/* What makes weights of scores. s is the score in natural units, after softcap and mask; a row's output is the sum
 * of weight * V over the keys that it sees, divided by its divisor. docs/numerics.md states the arithmetic. */
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
/* Numbers begin to end - 1 of some axis; FOVEA_UNLIMITED as `end` is the end of the axis. */
typedef struct fovea_range {
  int64_t begin, end;
} fovea_range;

/* Replaces malloc() and free(). Set both functions, or neither. They are called by the thread that calls the
 * library, never by its workers. Threads that share a plan may call them at the same time. */
typedef struct fovea_allocator {
  void *context; /* passed to both */
  /* Returns `size` bytes at a multiple of `alignment`, a power of 2, or NULL. The library releases memory that is
   * not so aligned at once, and treats it as NULL. */
  void *(*allocate)(void *context, size_t size, size_t alignment);
  void (*release)(void *context, void *pointer); /* frees what allocate() returned, never NULL */
} fovea_allocator;

/* The largest top_k. */
#define FOVEA_TOP_K_LIMIT 4096

/* As `offset`: not set. It is then each batch entry's kv length minus its q length, so that its last row's own key
 * is its last key. */
#define FOVEA_OFFSET_BOTTOM_RIGHT INT64_MIN
/* As one side of a window or chunk rule: no limit on that side. */
#define FOVEA_UNLIMITED ((int64_t)-1)

/* Which keys rows see, by rules that are composed; fovea/pattern.h makes patterns. */
typedef struct fovea_pattern fovea_pattern;

/* One attention problem: sizes, strides and rules, without pointers to the tensors. Prepare it with
 * fovea_problem_init(), then change what differs from the defaults. Later versions add fields at the end only, and
 * work with programs that were compiled with fewer fields.
 *
 * Shapes: Q (batch, heads, q_len, qk_dim), K (batch, kv_heads, kv_len, qk_dim), V (batch, kv_heads, kv_len, v_dim),
 * O (batch, heads, q_len, v_dim), LSE (batch, heads, q_len). Query head h reads kv head h / (heads / kv_heads).
 *
 * Which keys row i of a batch entry sees: its own key is key i + offset. It sees a key if all these rules allow it:
 *   lengths        keys from 0 to the entry's kv length - 1;
 *   causal         no key after the own key;
 *   window         at most window_left keys before the own key, and window_right keys after it;
 *   chunks         keys lie in chunks of chunk_size (chunk number floor(position / chunk_size)). The row sees the
 *                  chunk of its own key, chunk_left keys before this chunk and chunk_right keys after it (truncated
 *                  attention for streaming).
 * If an offset is not set and an entry has more rows than keys, its first rows would have no own key. Where one of
 * these rules but the lengths, a position term, `shaw` or a pattern over positions depends on that, the problem is
 * refused (FOVEA_ERROR_ARGUMENT, whose field is "offset"): set q_lens if the entry's last rows are padding, or else offset or offsets. No offset
 * that is set is refused for being negative.
 * If a row sees no key, its output is zeros and its LSE is -Inf (with a sink: the sink). Keys and values that a row
 * does not see never change its output, whatever bytes they hold. */
typedef struct fovea_problem {
  size_t struct_size; /* set by fovea_problem_init() */

  int64_t batch, heads, kv_heads; /* at least 1 */
  int64_t q_len, kv_len;          /* at least 0; of packed batches: all rows, all keys of the tensors */
  int64_t qk_dim, v_dim;          /* at least 1 */

  fovea_strides q_strides, k_strides, v_strides, o_strides; /* default: FOVEA_CONTIGUOUS along each axis */
  fovea_strides lse_strides;                                /* default: FOVEA_CONTIGUOUS; LSE is f32 */

  double scale; /* any finite number; default FOVEA_DEFAULT_NUMBER: 1/sqrt(qk_dim) */

  int causal;                        /* 0 (default) or 1 */
  int64_t window_left, window_right; /* 0 or more; FOVEA_UNLIMITED (default) */
  int64_t chunk_size;                /* 0 (default): no chunks */
  int64_t chunk_left, chunk_right;   /* 0 (default) or more, or FOVEA_UNLIMITED; only with a chunk_size */
  int64_t offset; /* default FOVEA_OFFSET_BOTTOM_RIGHT: not set; 0 is top-left; may be negative */

  /* One number per batch entry; NULL (default): not used. Making a plan copies these arrays. */
  const int64_t *offsets; /* `batch` int64 in place of `offset`, which must keep its default */
  const int64_t *q_lens;  /* `batch` int64, each from 0 to q_len; rows beyond it see no key */
  const int64_t *kv_lens; /* `batch` int64, each from 0 to kv_len; keys beyond it are not seen. In a batch of padded
                             rows q_lens goes with it */

  /* Packed batches of different lengths: entry b owns rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1 of Q, O and
   * LSE, and keys cu_seqlens_kv[b] to cu_seqlens_kv[b + 1] - 1. Each array has `batch` + 1 int32 that never
   * decrease; the first is at least 0, the last at most q_len (kv_len). Batch strides are then not used. Rows that
   * belong to no entry are not written. One array may be set without the other. cu_seqlens_q excludes q_lens, and
   * cu_seqlens_kv excludes kv_lens. */
  const int32_t *cu_seqlens_q;
  const int32_t *cu_seqlens_kv;

  fovea_type q_type, k_type, v_type, o_type; /* default FOVEA_F32; any mix */

  /* For batch entry b, query head h, row i and key mask_begin + j, the mask has element
   * b * batch + h * head + i * row + j * key. With packed batches rows and keys count from the entry's first. For
   * keys before mask_begin (see below; 0 by default) the other rules decide alone, and nothing is added to their
   * scores. Rows may share elements: batch, head and row strides may be any numbers. */
  fovea_mask_type mask_type;       /* default FOVEA_MASK_NONE */
  fovea_mask_strides mask_strides; /* default: FOVEA_CONTIGUOUS; see fovea_mask_layout() */
  /* How many keys the mask has: 0 to kv_len - mask_begin (with mask_begins: 0 to kv_len). Keys after these are not
   * seen. FOVEA_UNLIMITED (default): the mask has all keys from its first on. */
  int64_t mask_keys;

  double softcap;  /* 0 (default): none; else a score is softcap * tanh(scale * q.k / softcap) */
  fovea_sink sink; /* default FOVEA_SINK_NONE */

  /* 1: K and V are in segments of caches, fovea_tensors.sequences. k_type, v_type, k_strides, v_strides and
   * cu_seqlens_kv are then not used, and kv_len is the length of the longest entry, in positions. Default 0. */
  int segmented;
  /* 1: sequences may have holes. A key at a position that no segment holds does not exist: no row sees it, and the
   * result has the bits of a sequence with any key and value there that a mask hides. Positions, rules and masks
   * count holes. The last segment still reaches the entry's kv length, so that a page that was forgotten is not
   * taken for a hole. fovea_plan_explain() knows no holes. Needs `segmented`. Default 0: holes are refused. */
  int holes;
  /* `batch` int64, each from 0 to the entry's kv length; making a plan copies them. Positions before it are not
   * seen: old ones of a cache, or padding in front of a sequence (left padding). Segments need not hold them, and
   * tensors may hold anything there. NULL (default): 0 for all entries. */
  const int64_t *kv_begins;

  /* One more rule: only keys at positions keys_begin to keys_end - 1 are seen. No other key is read, and segments
   * need not hold any other. Default: 0 to kv_len, which are the limits; FOVEA_UNLIMITED as keys_end is kv_len. */
  int64_t keys_begin, keys_end;
  int to_state; /* 1: the result is a state over these keys, fovea_tensors.state, and not O and LSE. Default 0 */

  /* The key of the first element of a mask row, 0 (default) to kv_len. Examples are the first key that a ring
   * holds, and the first key of a tree of drafts. No byte before this element is read. mask_begins (NULL by
   * default) gives each batch entry its own, from 0 to its kv length: `batch` int64, which making a plan copies;
   * mask_begin must then be 0. mask_begin, mask_begins and mask_keys need a mask_type. */
  int64_t mask_begin;
  const int64_t *mask_begins;

  /* With a score_output a run also writes fovea_tensors.scores, f32 of shape (batch, heads, q_len, kv_len), whose
   * rows are those of O. A row has kv_len numbers, key j at position j. With cu_seqlens_kv a row has as many as the
   * longest entry has keys, and they count from the entry's first. O and LSE keep their bits. Scores other than
   * weights take a second product. Not with to_state. */
  fovea_score_output score_output; /* default FOVEA_SCORES_NONE */
  fovea_strides score_strides;     /* default: contiguous, kv_len numbers a row. Used with score_output */

  /* One more rule, of fovea/pattern.h: a row sees a key if the pattern lets it, too. `patterns` has one for each
   * batch entry (`batch` pointers, which making a plan copies; NULL: none); `pattern` must then be NULL. Every row
   * that may see keys, and every key of the entry, lies in the range of its pattern. Patterns outlive plans that
   * use them. */
  const fovea_pattern *pattern; /* default NULL */
  const fovea_pattern *const *patterns;

  /* Position terms, added to scores in this order, before the mask; set all three with fovea_problem_set_terms().
   * Their numbers are fovea_tensors.terms. Making a plan copies the array. */
  const fovea_position_term *terms; /* NULL (default): none */
  int64_t term_count;               /* 0 (default) to FOVEA_POSITION_TERMS_LIMIT */
  size_t term_size;                 /* bytes from one term to the next */

  fovea_scales scales; /* default FOVEA_SCALES_NONE. PER_HEAD and BOTH: `scale` keeps its default */
  /* Instead of the softmax. There is no LSE then, and no sink. A state has weights that are not divided yet: with
   * to_state, the divisor is that of fovea_state_finish(), and may not be KEYS. */
  fovea_normaliser normaliser; /* default FOVEA_NORMALISER_SOFTMAX, which uses none of these three: */
  fovea_divisor divisor;       /* default FOVEA_DIVISOR_NONE */
  double divisor_value;        /* with FOVEA_DIVISOR_CONSTANT: from 2^-126 to 2^127; else 0 (default) */
  double sigmoid_bias;         /* with the sigmoid: any number that f32 can hold; default 0. Often -log(keys) */
  /* Only these query heads, rows and keys have scores; default: all. fovea_tensors.scores then has the shape
   * (batch, their heads, their rows, their keys), and its first element is that of the first of each; score_strides
   * keep their default, so set these, too. Rows count from the entry's first: with cu_seqlens_q and rows other than
   * all, each entry has a batch index of its own, and rows that it does not have are not written. Other scores cost
   * nothing. Each range is within 0 and heads, q_len, and the keys of a row of scores. Used with score_output. */
  fovea_range score_heads, score_rows, score_keys;

  /* 1: a run also writes fovea_tensors.max_logits: for each batch entry and query head the largest score that one
   * of its rows sees, as the softmax takes it (after softcap and additive mask) and without the sink, in natural
   * units. Without softcap and additive mask that is the largest scale * q.k, which QK-Clip needs. -Inf if no row
   * sees a key, NaN if a row is NaN (docs/numerics.md, step 9). Costs a pass over q_len numbers a head. Not with
   * to_state. Default 0. */
  int max_logits;

  /* The keys with the largest scores of each row, as the softmax takes them, 1 to FOVEA_TOP_K_LIMIT keys; 0
   * (default): not wanted. A run writes fovea_tensors.top_keys and, unless NULL, top_scores, of shape (batch,
   * heads, q_len, top_k), whose rows are those of O. Scores descend, equal ones in the order of positions, NaN
   * first (docs/numerics.md, step 10). Scores are in natural units. If a row sees fewer keys, or others have scores
   * of -Inf, -1 and -Inf follow. top_k_strides are for both; default FOVEA_CONTIGUOUS. kv_len is at most 2^31
   * - 1. Scratch grows by some 16 bytes for each of the top_k, for each row of a task's tiles. Not with to_state.
   */
  int64_t top_k;
  fovea_strides top_k_strides;

  /* 1: a run also writes fovea_tensors.entropy, f32 of shape (batch, heads, q_len) with the strides of LSE: the
   * entropy of each row's weights, the sum of -p ln p, with the sink as one more key; 0 if a row sees no key
   * (docs/numerics.md, step 11). Takes the exponentials once more. Not with to_state. Default 0. */
  int entropy;

  /* 1: a run also writes fovea_tensors.column_sums: for each batch entry, query head and key the sum of the weights
   * that rows column_rows.begin to column_rows.end - 1 of the entry give it (default: all rows; the last rows are
   * SnapKV's observation window). Sums are added up as docs/numerics.md, step 12, says. Products with K are
   * computed once more for these rows, and not counted by fovea_run_counts(). Scratch grows by 8 bytes a row of Q
   * for each head, and by some 70 KB for each worker. Not with to_state. Default 0. */
  int column_sums;
  fovea_range column_rows;

  /* Applied to q.k, before scale and softcap (docs/numerics.md, step 2). FOVEA_SCORES_RAW has none of it. Not with
   * FOVEA_SHAW_KEYS. Default FOVEA_SCORE_ACTIVATION_NONE. */
  fovea_score_activation score_activation;
  double leaky_slope; /* with LEAKY_RELU: from 0 (default: plain ReLU) to below 1; GAT has 0.2 */

  /* Relative position representations, of distances -shaw_distance to shaw_distance. Rows and keys have the
   * distances of position terms: the key's position less that of the row's own key. */
  fovea_shaw shaw;       /* default FOVEA_SHAW_NONE, which uses none of these two: */
  int64_t shaw_distance; /* 1 to FOVEA_SHAW_DISTANCE_LIMIT; default 0 */
  int64_t shaw_heads;    /* 1 (default): all query heads share a table; or `heads`: each has its own */

  /* The arithmetic of both halves, default FOVEA_MODE_EXACT; they may differ. Other modes go with everything but
   * Shaw's vectors, normalisers other than the softmax, score_activation, score_output, max_logits, top_k, entropy,
   * column_sums (FOVEA_ERROR_UNUSED). With scores in INT8 qk_dim is at most 1,032 (FOVEA_ERROR_ARGUMENT), and a row
   * that sees a key with NaN or Inf is NaN; with values in INT8 one that sees such a value, in all columns. */
  fovea_mode scores, values;

  /* Vectors of int8 mode, which the caller fixes before it sees the rows, for instance from another text; they are
   * fovea_tensors.key_centre, key_scale and value_scale. Rows keep their scales, and one answer: docs/modes.md says
   * what helps which model, docs/numerics.md, section 16, what is computed. Default FOVEA_VECTORS_NONE.
   *   key_centre    is subtracted from every key before it gets codes. What that changes in scores is added again,
   *                 so O, LSE, sinks and states mean what they do without. i8 codes that are stored with a centre
   *                 of the same bits (k_scales.centre) are used as they lie. With scores in INT8; not with softcap
   *   key_scale     multiplies every row of Q before it gets codes. The caller has divided K by it, and key_centre,
   *                 too, which is that of the divided keys. With scores in INT8
   *   value_scale   multiplies outputs. The caller has divided V by it. A state has it already, so
   *                 fovea_state_finish() does not need it. With values in INT8 */
  fovea_vectors key_centre, key_scale, value_scale;
} fovea_problem;

/* Fills the first struct_size bytes: the sizes given, FOVEA_CONTIGUOUS as all strides, no rules. Callers in C
 * use fovea_problem_init(), which passes the size of the struct that the program was compiled with. A library with
 * more fields neither writes nor reads beyond this size, and uses the defaults for its other fields. This function
 * checks nothing and cannot fail. */
FOVEA_API void fovea_problem_init_sized(fovea_problem *problem, size_t struct_size, int64_t batch, int64_t heads,
                                        int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t qk_dim,
                                        int64_t v_dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_problem_init(fovea_problem *problem, int64_t batch, int64_t heads, int64_t kv_heads,
                                      int64_t q_len, int64_t kv_len, int64_t qk_dim, int64_t v_dim) {
  fovea_problem_init_sized(problem, sizeof *problem, batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim);
}

/* Replaces FOVEA_CONTIGUOUS and FOVEA_DEFAULT_NUMBER by the strides and the scale of the sizes that the problem has
 * now, for callers that read them. Sizes that are changed later do not change them. Error: FOVEA_ERROR_ARGUMENT.
 * `error` may be NULL. */
FOVEA_API fovea_status fovea_problem_resolve(fovea_problem *problem, fovea_error *error);

/* Sets the position terms of a problem, with the size of a term that this program was compiled with. */
static inline void fovea_problem_set_terms(fovea_problem *problem, const fovea_position_term *terms,
                                           int64_t term_count) {
  problem->terms = terms;
  problem->term_count = term_count;
  problem->term_size = sizeof *terms;
}

/* Returns the strides of contiguous (batch, rows, heads, dim) tensors, the layout that projections produce. */
FOVEA_API fovea_strides fovea_strides_rows_before_heads(int64_t rows, int64_t heads, int64_t dim);

/* Returns the strides of a contiguous mask of this shape. An extent of 1 is repeated along its axis, as in numpy.
 * Rows of bits begin at whole bytes. */
FOVEA_API fovea_mask_strides fovea_mask_layout(fovea_mask_type type, int64_t batch, int64_t heads, int64_t rows,
                                               int64_t keys);

/* ---- Caches: keys and values in segments --------------------------------------------------------------------- */

/* How the keys of a segment lie in memory.
 *   ROWS     each key is a row of qk_dim elements;
 *   PANELS   FOVEA_PANEL_ROWS keys lie side by side, panel[dim][key]: the fastest for decoding. In bf16, pairs of
 *            dims stay together, panel[dim / 2][key][dim % 2], and a zero follows an odd last dim. All
 *            fovea_panel_elements() elements of a panel must exist, even if it is not full yet. */
typedef enum fovea_key_layout { FOVEA_KEYS_IN_ROWS = 0, FOVEA_KEYS_IN_PANELS = 1 } fovea_key_layout;

/* The number of keys in a panel. */
#define FOVEA_PANEL_ROWS 16

/* Returns how many elements a panel has: FOVEA_PANEL_ROWS * qk_dim, for bf16 with qk_dim rounded up to even. */
FOVEA_API int64_t fovea_panel_elements(int64_t qk_dim, fovea_type type);

/* How the codes of a narrow cache become numbers: fovea/format.h. */
typedef struct fovea_format fovea_format;

/* The scales of a side of a segment whose format has them apart, or a centre. Strides count bytes. A scale and its
 * zero or minimum have the same strides. Fill it with designated initialisers, or clear it first. */
typedef struct fovea_code_scales {
  void *scales,
      *zeros; /* of kv head 0, the first key and the first group of dims; zeros: with a formula that has them */
  int64_t layer, head; /* between layers, and between kv heads */
  int64_t row;         /* between keys; if keys share scales, between groups of keys */
  int64_t group;       /* between groups of dims */
  /* A number for each dim that is added to keys or values, one row of f32 for each kv head; NULL: none. Only with
   * FOVEA_FORMULA_SCALE. Scores do not see a centre of keys, but the precision of codes does. */
  const float *centre;
  int64_t centre_layer, centre_head;
} fovea_code_scales;

/* Keys and values of one sequence at positions first to first + rows - 1, for all of its kv heads, and for all
 * layers of a model that lie at equal distances. Strides count elements and may be negative; the last axis is
 * contiguous. Attention only reads segments; fovea_append() writes to them. Later versions add fields at the end
 * only, and their default is 0: fill a segment with fovea_segment_init() or designated initialisers, or clear it
 * first. */
typedef struct fovea_segment {
  int64_t first, rows;
  void *k, *v;               /* kv head 0 of position `first`; with panels: the panel that begins there */
  int64_t k_head, k_row;     /* between kv heads, and between rows (panels: between panels) */
  int64_t v_head, v_row;     /* the same for values, which always lie in rows */
  fovea_type k_type, v_type; /* may differ from segment to segment */
  fovea_key_layout k_layout; /* PANELS: `first` is a multiple of FOVEA_PANEL_ROWS */
  int64_t layers;            /* how many layers the segment has; 0 means 1 */
  int64_t k_layer, v_layer;  /* between layers; not used if there is one */

  /* Formats of codes in place of k_type and v_type, which are then 0. NULL (default): none. All strides of a side
   * with a format count bytes. If groups of keys share scales that lie with their codes, k_row is the distance
   * between groups; if codes lie along keys, between rows of words. */
  const fovea_format *k_format, *v_format;
  fovea_code_scales k_scales, v_scales; /* for formats with scales apart, or a centre; else all 0 */

  /* How many kv heads the segment has, and the dims of its keys and values; segments of pages have those of the
   * pages. A call for other numbers is refused. 0 (default): not known, and not checked: the memory must then have
   * what each call names. */
  int64_t kv_heads, qk_dim, v_dim;
} fovea_segment;

/* Sets these fields for contiguous keys (kv_heads, rows, qk_dim) and values (kv_heads, rows, v_dim) of one type,
 * and the others to 0. Callers in C use fovea_segment_init(). kv_heads is not known, unless the caller sets it. */
FOVEA_API void fovea_segment_init_sized(fovea_segment *segment, size_t segment_size, int64_t first, int64_t rows,
                                        int64_t qk_dim, int64_t v_dim, fovea_type type, void *k, void *v);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_segment_init(fovea_segment *segment, int64_t first, int64_t rows, int64_t qk_dim,
                                      int64_t v_dim, fovea_type type, void *k, void *v) {
  fovea_segment_init_sized(segment, sizeof *segment, first, rows, qk_dim, v_dim, type, k, v);
}

/* The segments of one batch entry, in ascending order of positions, without overlaps. They hold every position that
 * a call names or reads, of a run those from the entry's kv_begin to its kv length - 1 (but for `holes` of the
 * problem), and may hold more. Sequences may share segments.
 * fovea_sequence_of(), fovea_cache_paged() and fovea_cache_ring() make sequences. Later versions add no field to
 * this struct. */
typedef struct fovea_sequence {
  const fovea_segment *segments; /* in the order of their positions */
  int64_t count;                 /* how many segments */
  size_t segment_size; /* bytes from one segment to the next: sizeof(fovea_segment) of the program that made them */
} fovea_sequence;

/* Returns a sequence of the segments of an array, with the size of a segment that this program was compiled with.
 * The library steps by this size, and uses the defaults for fields that the segments do not have. */
static inline fovea_sequence fovea_sequence_of(const fovea_segment *segments, int64_t count) {
  fovea_sequence sequence;
  sequence.segments = segments;
  sequence.count = count;
  sequence.segment_size = sizeof *segments;
  return sequence;
}

/* ---- States: attention over some of the keys ---------------------------------------------------------------- */

/* The number of keys in a span. If ranges are cut at multiples of it, their merged states have the bits of one run
 * over all keys. */
#define FOVEA_SPAN_KEYS 2048

/* The state of each row over the keys at positions keys_begin to keys_end - 1, in memory of the caller. A state may
 * be copied, stored or sent to another machine: it does not depend on the instruction set.
 *
 * A row has fovea_state_numbers() floats: a row state of dim + 2 floats for each node of the range, in ascending
 * order. (Span i is keys i * FOVEA_SPAN_KEYS to (i + 1) * FOVEA_SPAN_KEYS - 1. Node (k, i) is spans i * 2^k to
 * (i + 1) * 2^k - 1. A range has the fewest nodes that hold it; see docs/states.md.) Let s be the score of a key in
 * units of log2. A row state is the sum of 2^(s - m) * V over the keys of the node that the row sees; then m, the
 * largest s (with values in FOVEA_MODE_INT8 another number); then the sum of 2^(s - m). States of
 * different modes merge. If the row sees no key of the node, m is -Inf and the rest is 0. With
 * another normaliser than the softmax, a row state is the sum of weight * V; then 0; then the sum of weights. A
 * state does not say which normaliser it has: merge and finish only states of the same one. */
typedef struct fovea_state {
  size_t struct_size;              /* set by fovea_state_init() */
  int64_t batch, heads, rows, dim; /* of the outputs; with cu_seqlens_q batch is 1 */
  int64_t keys_begin, keys_end;    /* positions: 0 <= keys_begin <= keys_end */
  float *numbers;                  /* the first float of the row with all indices 0 */
  fovea_strides strides;           /* in floats; default: FOVEA_CONTIGUOUS, (batch, heads, rows) */
} fovea_state;

/* Returns how many floats a row of a state has; 0 if the range is empty or an argument is out of range. */
FOVEA_API int64_t fovea_state_numbers(int64_t dim, int64_t keys_begin, int64_t keys_end);

/* Sets these seven fields, and the others to their defaults. Callers in C use fovea_state_init(). */
FOVEA_API void fovea_state_init_sized(fovea_state *state, size_t struct_size, int64_t batch, int64_t heads,
                                      int64_t rows, int64_t dim, int64_t keys_begin, int64_t keys_end,
                                      float *numbers);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_state_init(fovea_state *state, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                                    int64_t keys_begin, int64_t keys_end, float *numbers) {
  fovea_state_init_sized(state, sizeof *state, batch, heads, rows, dim, keys_begin, keys_end, numbers);
}

/* ---- Running it --------------------------------------------------------------------------------------------- */

/* The tensors of one run. Each pointer names the element with all indices 0, even if that element is not used. A
 * run uses the rows of entries. Of K and V, it uses for each entry the keys from the first to the last that one of
 * its rows sees by the rules. Of a mask, it uses for all rows of such an entry (with q_lens, the first q_lens[b])
 * the elements of these keys, and of earlier keys back to a multiple of 128. No other element must exist: q, k, v
 * and mask may be NULL if nothing of them is used. Inputs may overlap each other. Outputs (O, LSE and all that is
 * wanted beside them, or the state) may not share a byte with used elements of the inputs, nor with each other;
 * rows of one may lie between rows of another. (fovea_state_finish() and fovea_state_from_output() compare the
 * ranges from the first to the last element of each tensor.) Pointers that the problem does not use must be NULL.
 */
typedef struct fovea_tensors {
  size_t struct_size; /* set by fovea_tensors_init() */
  const void *q;
  const void *k;
  const void *v;
  void *o;
  float *lse; /* NULL: not wanted; only the softmax has it. The natural logarithm of the sum of exp(score) over the
                 keys seen and the sink */

  const void *mask;   /* needed with a mask_type, else NULL */
  const float *sinks; /* `heads` numbers; needed with FOVEA_SINK_PER_HEAD, else NULL. With to_state NULL: a state
                         has no sink, and fovea_state_finish() takes them */

  /* One per batch entry; needed with `segmented`, else NULL. k and v are then NULL. */
  const fovea_sequence *sequences;

  /* Needed with to_state, else NULL. It has the problem's sizes and keys, and o and lse are then NULL.
   * fovea_state_finish() and fovea_state_from_output() use all three. */
  const fovea_state *state;

  int64_t layer; /* with `segmented`: which layer of every segment is read, from 0. Default 0 */

  float *scores; /* needed with a score_output, else NULL */

  /* term_count pointers to the numbers of position terms, each to that of batch entry 0, query head 0 and the first
   * place; needed with terms, else NULL. All numbers must exist. A run reads this array until it ends. */
  const float *const *terms;
  const double *head_scales; /* `heads` numbers; needed with these scales, else NULL */
  /* (batch, q_len) numbers, those of the rows of O: with cu_seqlens_q `q_len` numbers; needed with these scales,
   * else NULL. Products of two scales must be finite, as `scale` must be. */
  const double *row_scales;
  float *max_logits; /* f32 (batch, heads), contiguous, also of packed batches; needed with max_logits, else NULL */

  int32_t *top_keys; /* positions of keys, from the entry's first; needed with top_k, else NULL */
  float *entropy;    /* needed with entropy, else NULL */

  /* f32 (batch, heads, keys), contiguous, also of packed batches, with as many keys as a row of scores has; needed
   * with column_sums, else NULL. */
  float *column_sums;
  float *top_scores; /* their scores; only with top_k, NULL: not wanted */

  /* f32 (shaw_heads, 2 shaw_distance + 1, qk_dim), contiguous: the vectors of distances, ascending; needed with
   * FOVEA_SHAW_KEYS and BOTH, else NULL. Likewise with v_dim, needed with VALUES and BOTH. */
  const float *shaw_keys, *shaw_values;

  /* f32, contiguous: (kv_heads, qk_dim), value_scale (kv_heads, v_dim); with FOVEA_VECTORS_SHARED (qk_dim) and
   * (v_dim). Each is needed if the problem has it, else NULL. NaN and infinities are numbers like others: with one
   * in a key's vector every row that sees a key is NaN, with one in value_scale the outputs of its dim. */
  const float *key_centre, *key_scale, *value_scale;
} fovea_tensors;

/* Sets these five fields, and the others to NULL and 0. Callers in C use fovea_tensors_init(). */
FOVEA_API void fovea_tensors_init_sized(fovea_tensors *tensors, size_t struct_size, const void *q, const void *k,
                                        const void *v, void *o, float *lse);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_tensors_init(fovea_tensors *tensors, const void *q, const void *k, const void *v, void *o,
                                      float *lse) {
  fovea_tensors_init_sized(tensors, sizeof *tensors, q, k, v, o, lse);
}

/* Runs one task of a job. The tasks of a job may run in any order and at the same time. */
typedef void (*fovea_task_function)(void *job, int64_t task, int worker);

/* A caller's own parallel-for: calls run(job, task, worker) exactly once for every task from 0 to tasks - 1, and
 * returns when all tasks are done. `worker` is from 0 to workers - 1; calls that run at the same time have
 * different workers. */
typedef void (*fovea_parallel_for)(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* How to run. A NULL pointer to it means all defaults. */
typedef struct fovea_execution {
  size_t struct_size; /* set by fovea_execution_init() */
  int threads; /* how many workers; 0 (default): fovea_default_threads(), or with parallel_for one for each CPU
                  that this process may use; 1: the calling thread alone. With OpenMP at most 64, or the number
                  of CPUs if that is more */
  fovea_parallel_for parallel_for; /* NULL (default): OpenMP if the library has it, else the calling thread */
  void *parallel_context;          /* passed to parallel_for; only with parallel_for */
  void *scratch;       /* NULL (default): the call allocates and frees it. The bytes needed may not overlap
                          anything else that the run uses: tensors, segments, states, the plan */
  size_t scratch_size; /* bytes at scratch; see fovea_plan_scratch_size(). 0 without scratch */
  const char *isa;     /* NULL (default): the best of this CPU; else a name that fovea_isa_at() has as usable */
  fovea_allocator allocator; /* of what the call allocates: a plan, which keeps it, or scratch; default: malloc(),
                                free() */
} fovea_execution;

/* One execution may go to all calls, and a call takes what it needs of it. Making a plan takes isa and allocator;
 * threads, parallel_for and scratch are those of the run. A run of a plan takes the allocator for scratch, and its
 * isa is NULL or that of the plan. Calls that allocate nothing do not call the allocator, and calls that only copy
 * (fovea_sequence_copy()) or run tasks (fovea_tasks_run()) look up no isa. */

/* Row-wise calls (fovea_append(), fovea_sequence_copy(), fovea_sequence_move(), fovea_rotary_apply() and those that
 * merge, finish and make states) take threads, parallel_for and isa from it, allocate nothing, and refuse scratch.
 * Rows are shared out only if there is work for more than one thread. A caller with threads of its own may make one
 * call for each part of the heads, rows or batch entries, at the same time. `execution` and `error` may be NULL.
 */

/* Sets all defaults. Callers in C use fovea_execution_init(). */
FOVEA_API void fovea_execution_init_sized(fovea_execution *execution, size_t struct_size);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_execution_init(fovea_execution *execution) {
  fovea_execution_init_sized(execution, sizeof *execution);
}

/* Returns the default number of threads: the CPUs that this process may use (affinity, cgroup quota,
 * OMP_NUM_THREADS), or 1 if the library was built without OpenMP. In the child of a fork() it is 1, since GNU's
 * OpenMP would wait forever for threads that the child does not have. The library knows the child by its process
 * id, so the parent must have called a function of Fovea that plans or runs something before the fork. */
FOVEA_API int fovea_default_threads(void);

/* Returns how many workers the tasks of a caller's own are worth: 1 if `work`, the multiplications and additions of
 * all of them, is too little to share, else as many as `execution` allows (NULL: all defaults), and no more than
 * `tasks`. 1 for an execution that fovea_tasks_run() refuses. */
FOVEA_API int fovea_tasks_workers(int64_t tasks, double work, const fovea_execution *execution);

/* Runs tasks of a caller's own on `workers` workers or fewer, as attention runs its tasks: on OpenMP's threads or
 * by execution->parallel_for. Calls run(data, task, worker) once for each task from 0 to tasks - 1, in any order
 * and at the same time. `worker` is from 0 to workers - 1, and calls at the same time have different workers.
 * Returns when all tasks are done. Allocates nothing, and uses no scratch. `execution` and `error` may be NULL.
 * FOVEA_ERROR_ARGUMENT if run is NULL, tasks is below 0 or workers below 1; and the errors of an execution that any
 * call refuses. Thread-safe. */
FOVEA_API fovea_status fovea_tasks_run(void (*run)(const void *data, int64_t task, int worker), const void *data,
                                       int64_t tasks, int workers, const fovea_execution *execution,
                                       fovea_error *error);

/* Plans and runs a problem of contiguous f32 tensors in the order of the shapes above, with v_dim = qk_dim = dim
 * and the default scale. `causal` is 0 or 1, aligned bottom-right; then q_len is at most kv_len (FOVEA_ERROR_ARGUMENT),
 * and fovea_attend() takes other offsets. Runs with default threads. Allocates its scratch
 * once, and a plan if there are more than 32 batch entries. */
FOVEA_API fovea_status fovea_attention(const float *q, const float *k, const float *v, float *o, int64_t batch,
                                       int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t dim,
                                       int causal);

/* Plans and runs one problem. `execution` and `error` may be NULL. */
FOVEA_API fovea_status fovea_attend(const fovea_problem *problem, const fovea_tensors *tensors,
                                    const fovea_execution *execution, fovea_error *error);

/* Merges the states of two ranges of keys; `right` begins where `left` ends. `merged` has the sizes of both,
 * keys_begin of `left`, keys_end of `right`, and memory of its own. If the ranges are cut at a multiple of
 * FOVEA_SPAN_KEYS, it gets the bits of the state that one run over all these keys writes; if not, the two differ by
 * rounding. Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_state_merge(const fovea_state *left, const fovea_state *right,
                                         const fovea_state *merged, const fovea_execution *execution,
                                         fovea_error *error);

/* Finishes a state: writes O and LSE (unless NULL) from tensors->state. It uses these fields of the problem: batch,
 * heads, q_len, v_dim, cu_seqlens_q (only whether it is NULL: all q_len rows are written), o_type, o_strides,
 * lse_strides, sink, normaliser, divisor and divisor_value. The problem's arrays need not exist any more. The
 * sinks are tensors->sinks; a state has none. If the state is of all keys, cut at multiples of FOVEA_SPAN_KEYS, O
 * and LSE have the bits of fovea_attend(). Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_state_finish(const fovea_problem *problem, const fovea_tensors *tensors,
                                          const fovea_execution *execution, fovea_error *error);

/* The reverse: writes tensors->state from O and LSE (natural logarithms) over its range of keys, which may come
 * from any library, with the problem's types and strides. A row whose LSE is -Inf has seen no key, whatever its O
 * is, and so has one whose LSE is +Inf, which FlashAttention-2 writes for such rows (Fovea never does). The state
 * has no sink: O and LSE are those without one, and tensors->sinks is NULL. It is as exact as these numbers: an LSE
 * of 10 in f32 gives weights to 1e-6. Only for the softmax, since other normalisers have no LSE. Runs as row-wise
 * calls do (fovea_execution). */
FOVEA_API fovea_status fovea_state_from_output(const fovea_problem *problem, const fovea_tensors *tensors,
                                               const fovea_execution *execution, fovea_error *error);

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* An immutable plan: the kernels, the tiles, the tasks. Threads may share it, and run it any number of times at the
 * same time, with different tensors and scratch. */
typedef struct fovea_plan fovea_plan;

/* Checks the problem and allocates a plan for it, with the isa and the allocator of `execution` (NULL: all defaults).
 * The name of the isa need not exist any more when the plan runs. On failure *plan is NULL. */
FOVEA_API fovea_status fovea_plan_create(const fovea_problem *problem, const fovea_execution *execution,
                                         fovea_plan **plan, fovea_error *error);
FOVEA_API void fovea_plan_destroy(fovea_plan *plan); /* frees a plan; NULL is allowed */

/* Returns the bytes of a plan of `batch` entries; 0 if batch is below 1, SIZE_MAX if a size_t cannot hold them. */
FOVEA_API size_t fovea_plan_size(int64_t batch);

/* Like fovea_plan_create(), but allocates nothing: the plan lies in memory of the caller, fovea_plan_size() bytes
 * or more at a multiple of FOVEA_SCRATCH_ALIGNMENT, and lives as long as this memory. Memory for one batch also
 * holds plans of smaller batches, so an engine that decodes can make the plan of each step in the same place. A new
 * plan ends the one before in this memory. fovea_plan_destroy() does nothing to such a plan. On failure *plan is
 * NULL, and a plan that was in this memory is lost. */
FOVEA_API fovea_status fovea_plan_create_in(const fovea_problem *problem, const fovea_execution *execution,
                                            void *memory, size_t size, fovea_plan **plan, fovea_error *error);

/* The alignment of scratch, in bytes. */
#define FOVEA_SCRATCH_ALIGNMENT 64

/* Bytes of stack. Every call of this library and of fovea_nn uses less, on the calling thread and on each worker's,
 * if the library is compiled with optimisation. Frames that signals push are not the library's; callbacks and
 * allocators of the caller's come on top. */
#define FOVEA_STACK_SIZE 65536

/* Returns the bytes of scratch for `workers` workers, 0 if workers is below 1. They depend on the dimensions, the
 * types, the modes and whether AMX was allowed when the plan was made, the batch, the number of position terms, the
 * CPUs of this process (if keys may be split between them) and
 * the logarithm of how many keys a row can see. This number follows from window, chunks, keys_begin and keys_end,
 * and from kv_len, or with kv_begins from the longest entry from its begin to its end; offsets, masks and other
 * lengths of entries do not matter. So with the same batch and the same rules, scratch for the largest lengths is
 * enough for all smaller ones. A mask that does not begin at key 0 needs some more: the same for every mask_begin
 * but 0, and for mask_begins. */
FOVEA_API size_t fovea_plan_scratch_size(const fovea_plan *plan, int workers);

/* Runs the whole plan. `execution` and `error` may be NULL. If isa is not NULL, it names the table of kernels that the
 * plan was made for (else FOVEA_ERROR_UNUSED). */
FOVEA_API fovea_status fovea_plan_run(const fovea_plan *plan, const fovea_tensors *tensors,
                                      const fovea_execution *execution, fovea_error *error);

/* How many phases a plan has, and how many tasks a phase has. Phases run one after the other; the tasks of a phase
 * run in any order, on any worker. */
FOVEA_API int fovea_plan_phases(const fovea_plan *plan);
FOVEA_API int64_t fovea_plan_tasks(const fovea_plan *plan, int phase); /* 0 for a phase that does not exist */

/* For engines with threads of their own: a plan bound to the tensors and the scratch of one run. Binding checks
 * everything, once; a task then checks only its phase, task and worker. All workers share one scratch of
 * fovea_plan_scratch_size(plan, workers) bytes. Calls that run at the same time have different workers. The engine
 * waits at the end of each phase until all its tasks are done.
 *
 *   fovea_run_bind(plan, &tensors, workers, scratch, scratch_size, memory, fovea_run_size(plan), &run, &error);
 *   for phase in 0 .. fovea_plan_phases(plan) - 1
 *     for task in 0 .. fovea_plan_tasks(plan, phase) - 1, on any of the workers
 *       fovea_run_task(run, phase, task, worker, &error);
 */
typedef struct fovea_run fovea_run;

/* Returns the bytes of a run; 0 if plan is NULL. */
FOVEA_API size_t fovea_run_size(const fovea_plan *plan);

/* Makes a run in memory of the caller, fovea_run_size() bytes or more at a multiple of FOVEA_SCRATCH_ALIGNMENT. It
 * holds nothing that must be freed, and lives as long as its memory, the plan, the scratch, and all that the
 * tensors point to. It must not be moved. The struct `tensors`, and the struct of a state, are not needed after the
 * call. On failure *run is NULL. Two threads may not bind in the same memory at the same time. */
FOVEA_API fovea_status fovea_run_bind(const fovea_plan *plan, const fovea_tensors *tensors, int workers,
                                      void *scratch, size_t scratch_size, void *memory, size_t size,
                                      fovea_run **run, fovea_error *error);

/* Runs one task, on the calling thread, which may be any. */
FOVEA_API fovea_status fovea_run_task(const fovea_run *run, int phase, int64_t task, int worker,
                                      fovea_error *error);

/* How much of the score matrix is seen and computed, over all batch entries and query heads. */
typedef struct fovea_counts {
  int64_t pairs_seen; /* (row, key) pairs that may be seen */
  /* Pairs whose score is computed, lanes of padding included; twice with a score output other than weights. */
  int64_t pairs_computed;
} fovea_counts;

/* Counts the pairs of a run exactly: it reads the mask tensor, and counts panels and small pages as they are
 * computed. It uses the scratch of worker 0, so do not call it while worker 0 runs a task. It takes a pass over all
 * blocks and over the mask; if the mask hides keys or adds to scores, it looks at these elements once more. Keys
 * that only position terms hide count as seen. FOVEA_ERROR_ARGUMENT if the run is not bound. */
FOVEA_API fovea_status fovea_run_counts(const fovea_run *run, fovea_counts *counts);

/* Counts the pairs of a plan by its rules, as if keys were in rows and there were no mask, no pattern and no holes: a
 * plan knows no tensors. A run without a mask, a pattern, holes, panels and small pages has the same counts. It takes
 * a pass over all rows. */
FOVEA_API fovea_status fovea_plan_counts(const fovea_plan *plan, fovea_counts *counts);

/* Returns the name of the instruction set that a plan runs on. */
FOVEA_API const char *fovea_plan_isa(const fovea_plan *plan);

/* ---- Rotary position embedding ------------------------------------------------------------------------------ */

/* RoPE of Su et al. (RoFormer, 2021): the first `dims` elements of a row are pairs (x, y), and pair i of the row at
 * position p becomes (x cos a - y sin a, y cos a + x sin a)  with  a = p * base^(-2 i / dims). The elements after
 * these are not rotated. Cosines and sines are computed from the exact angle and rounded to f32, at every position
 * from -2^40 to 2^40; docs/numerics.md states the arithmetic. The bits are the same on every instruction set. Calls
 * may run at the same time if no two write the same rows. */

/* The most axes that the positions of a rotary embedding have. */
#define FOVEA_ROTARY_AXES 4

/* Which elements make pair i. */
typedef enum fovea_rotary_layout {
  FOVEA_ROTARY_INTERLEAVED = 0, /* 2 i and 2 i + 1: GPT-J, Llama's own checkpoints */
  FOVEA_ROTARY_HALVES = 1       /* i and i + dims / 2: GPT-NeoX, Hugging Face's Llama */
} fovea_rotary_layout;

/* A rotary embedding. Prepare it with fovea_rotary_init(), then change what differs from the defaults. The arrays
 * belong to the caller; calls read them while they run. */
typedef struct fovea_rotary {
  size_t struct_size;         /* set by fovea_rotary_init() */
  fovea_rotary_layout layout; /* which elements make a pair */
  int64_t dims;               /* even, from 0 to the rows' dim; at most 2^20 */

  double base; /* finite, at least 1; default 10000. Keep the default with frequencies or tables */

  /* In place of base: the angle of each pair from one position to the next, dims / 2 numbers in radians, each from
   * -2^32 to 2^32. To scale positions, scale the frequencies. Negative frequencies rotate back. Default NULL. */
  const double *frequencies;

  /* In place of base and frequencies; set both, or neither (default NULL). Row p of a table holds the cosines
   * (sines) of position p, from 0 to table_rows - 1: dims / 2 numbers from element p * table_stride on. */
  const float *cosines, *sines;
  int64_t table_rows, table_stride; /* default, and without tables: 0, and FOVEA_CONTIGUOUS, dims / 2 */

  /* Positions of several numbers: M-RoPE of Qwen2-VL has a time, a height and a width for each row. pair_axes[i],
   * of dims / 2 numbers from 0 to axes - 1, says which number of its row's position pair i rotates by;
   * fovea_rotary_sections() fills it (fovea/rotary_scaling.h). Lists of positions then have `axes` numbers for each
   * row; a row whose position is one number, as that of text is, has it on every axis. At most FOVEA_ROTARY_AXES.
   * Default 1 and NULL. */
  int64_t axes;
  const unsigned char *pair_axes;
} fovea_rotary;

/* Sets layout and dims, and the other fields to their defaults. Callers in C use fovea_rotary_init(). */
FOVEA_API void fovea_rotary_init_sized(fovea_rotary *rotary, size_t struct_size, fovea_rotary_layout layout,
                                       int64_t dims);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_rotary_init(fovea_rotary *rotary, fovea_rotary_layout layout, int64_t dims) {
  fovea_rotary_init_sized(rotary, sizeof *rotary, layout, dims);
}

/* What one call rotates: a tensor (batch, heads, rows, dim), into another or in place. Prepare it with
 * fovea_rotation_init(). Sizes are at least 1, rows at least 0. */
typedef struct fovea_rotation {
  size_t struct_size; /* set by fovea_rotation_init() */
  int64_t batch, heads, rows, dim;
  const void *from; /* the element with all indices 0 */
  void *to;         /* either `from`, with its type and strides, or memory that the call does not read */
  fovea_strides from_strides, to_strides; /* default: FOVEA_CONTIGUOUS */
  fovea_type from_type, to_type;          /* default FOVEA_F32; to 16 bits, f32 results are rounded once */

  /* Row i of entry b is at position first_position + i, or first_positions[b] + i (`batch` int64), or
   * positions[b * rows + i] (`batch` * `rows` int64; if the embedding has several axes, so many for each axis, one
   * axis after the other). Positions are from -2^40 to 2^40. Set at most one of the three; default 0 and NULL. */
  int64_t first_position;
  const int64_t *first_positions;
  const int64_t *positions;

  /* Packed batches: entry b is rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of one tensor (1, heads, rows, dim).
   * These are `batch` + 1 numbers from 0 to rows that never decrease. Batch strides are then not used, and
   * `positions` has `rows` numbers for each axis, one for each row of the tensor. Rows that belong to no entry are
   * not written. Default NULL. */
  const int32_t *cu_seqlens;
} fovea_rotation;

/* Sets these six fields, and the others to their defaults. Callers in C use fovea_rotation_init(). */
FOVEA_API void fovea_rotation_init_sized(fovea_rotation *rotation, size_t struct_size, int64_t batch, int64_t heads,
                                         int64_t rows, int64_t dim, const void *from, void *to);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_rotation_init(fovea_rotation *rotation, int64_t batch, int64_t heads, int64_t rows,
                                       int64_t dim, const void *from, void *to) {
  fovea_rotation_init_sized(rotation, sizeof *rotation, batch, heads, rows, dim, from, to);
}

/* Rotates the rows. A row's angles are computed once for all heads. Elements that are not rotated are copied bit
 * for bit, or, if the types differ, converted as results are. Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_rotary_apply(const fovea_rotary *rotary, const fovea_rotation *rotation,
                                          const fovea_execution *execution, fovea_error *error);

/* What one call rotates by the normalised Walsh-Hadamard matrix, in blocks of `block` dims: a tensor (batch, heads,
 * rows, dim), into another or in place. Queries for keys that fovea_append() rotated so, and outputs, which the
 * same call turns back: the matrix is its own inverse. Prepare it with fovea_hadamard_init(). Cost: log2(block)
 * sums an element. */
typedef struct fovea_hadamard {
  size_t struct_size;                     /* set by fovea_hadamard_init() */
  int64_t batch, heads, rows, dim;        /* at least 1, rows at least 0; dim at most 4096 */
  int64_t block;                          /* a power of 2 from 2 to 4096 that divides dim */
  const void *from;                       /* the element with all indices 0 */
  void *to;                               /* either `from`, with its type and strides, or memory that is not read */
  fovea_strides from_strides, to_strides; /* default: FOVEA_CONTIGUOUS */
  fovea_type from_type, to_type;          /* default FOVEA_F32; to 16 bits, f32 results are rounded once */
} fovea_hadamard;

/* Sets these seven fields, and the others to their defaults. Callers in C use fovea_hadamard_init(). */
FOVEA_API void fovea_hadamard_init_sized(fovea_hadamard *hadamard, size_t struct_size, int64_t batch, int64_t heads,
                                         int64_t rows, int64_t dim, int64_t block, const void *from, void *to);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_hadamard_init(fovea_hadamard *hadamard, int64_t batch, int64_t heads, int64_t rows,
                                       int64_t dim, int64_t block, const void *from, void *to) {
  fovea_hadamard_init_sized(hadamard, sizeof *hadamard, batch, heads, rows, dim, block, from, to);
}

/* Rotates the rows (docs/numerics.md, section 14). Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_hadamard_apply(const fovea_hadamard *hadamard, const fovea_execution *execution,
                                            fovea_error *error);

/* ---- Caches: new rows ---------------------------------------------------------------------------------------- */

/* New keys and values, (batch, kv_heads, rows, dim) tensors that fovea_append() writes into caches. Row i of entry
 * b goes to position first_position + i, or first_positions[b] + i, of sequences[b]. Prepare it with
 * fovea_new_rows_init(). */
typedef struct fovea_new_rows {
  size_t struct_size;                           /* set by fovea_new_rows_init() */
  int64_t batch, kv_heads, rows, qk_dim, v_dim; /* at least 1; rows at least 0 */
  const void *k, *v;                            /* the elements with all indices 0 */
  fovea_strides k_strides, v_strides;           /* default: FOVEA_CONTIGUOUS */
  fovea_type k_type, v_type;                    /* default FOVEA_F32; segments have their own types */
  const fovea_sequence *sequences;              /* one per batch entry; only the segments' memory is written */
  int64_t first_position;                       /* 0 or more; default 0 */
  /* `batch` int64 in place of first_position, which must then be 0. Default NULL. */
  const int64_t *first_positions;
  /* `batch` int64, each from 0 to rows: how many rows each entry has. Default NULL: all. */
  const int64_t *row_counts;

  /* Packed batches: the new rows of entry b are rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of one tensor (1,
   * kv_heads, rows, dim). These are `batch` + 1 numbers from 0 to rows that never decrease. Batch strides are then
   * not used, and row_counts must be NULL. Default NULL. */
  const int32_t *cu_seqlens;
  int64_t layer; /* which layer of the segments is written, from 0. Default 0 */

  /* Keys and values are rotated, keys after the rotary embedding, by the normalised Walsh-Hadamard matrix in blocks
   * of this many dims: a power of 2 from 2 to 4096 that divides the dim, which is then at most 4096. Outliers of a
   * dim are shared among all, and narrow formats lose less. Scores are the same if fovea_hadamard_apply() rotates
   * queries by the block of keys, and outputs are turned back by the block of values. llama.cpp: blocks of 64, and
   * of keys the largest power of 2 that divides the dim. Default 0: none. */
  int64_t k_hadamard, v_hadamard;

  /* Where keys are rotated to, if that is not their place in the cache: drafts of a tree lie one after the other
   * but are at the position of their depth, rows after left padding or after a gap count from elsewhere, rows of
   * M-RoPE have several numbers. `batch` * `rows` int64 for each axis of the embedding, as `positions` of
   * fovea_rotation; packed, `rows` int64. From -2^40 to 2^40; needs a rotary embedding. Default NULL: the place in
   * the cache. */
  const int64_t *rotary_positions;
} fovea_new_rows;

/* Sets these eight fields, and the others to their defaults. Callers in C use fovea_new_rows_init(). */
FOVEA_API void fovea_new_rows_init_sized(fovea_new_rows *rows, size_t struct_size, int64_t batch, int64_t kv_heads,
                                         int64_t row_count, int64_t qk_dim, int64_t v_dim, const void *k,
                                         const void *v, const fovea_sequence *sequences);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_new_rows_init(fovea_new_rows *rows, int64_t batch, int64_t kv_heads, int64_t row_count,
                                       int64_t qk_dim, int64_t v_dim, const void *k, const void *v,
                                       const fovea_sequence *sequences) {
  fovea_new_rows_init_sized(rows, sizeof *rows, batch, kv_heads, row_count, qk_dim, v_dim, k, v, sequences);
}

/* Writes the new rows into the segments that hold their positions. Elements are copied bit for bit, or, if the
 * types differ, rounded once. With `rotary` (NULL: none) keys are rotated for their positions, or for those in
 * rotary_positions, and still rounded once. In a panel the other keys keep their bits. A side with a format is
 * written by it (fovea/format.h): keys are rotated in f32 and not rounded before they become codes; rows have at
 * most 4096 dims, and of keys that share scales or words whole groups are written, counted from the segment's
 * first, or up to its last. The call fails before it writes anything if no segment holds a position, or if rows to
 * be written would share memory with each other, with the tensors or with tables of the embedding. Calls may run at
 * the same time if none writes a row that another reads or writes. Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_append(const fovea_new_rows *rows, const fovea_rotary *rotary,
                                    const fovea_execution *execution, fovea_error *error);

/* Copies the keys and values at positions begin to end - 1 of one sequence to the same positions of another, in
 * layers 0 to layers - 1, which every segment must have. Types and layouts may differ. Use it to store old rows in
 * a narrower type or format, or to copy pages. Codes stay as they are if both have the same format, and the same
 * scales if these are fixed; otherwise numbers become codes anew. It converts elements, runs and fails as
 * fovea_append() does; error texts call `from` sequences[0] and `to` sequences[1]. */
FOVEA_API fovea_status fovea_sequence_copy(const fovea_sequence *from, const fovea_sequence *to, int64_t layers,
                                           int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin,
                                           int64_t end, const fovea_execution *execution, fovea_error *error);

/* The default of rotate_by: as far as the rows move. */
#define FOVEA_ROTATE_AS_MOVED INT64_MIN

/* Rows of one sequence that move to other positions: the keys and values at positions begin to end - 1 go to `to`
 * and the positions after it, whether or not these are partly the same. Prepare it with fovea_move_init().
 * docs/caches.md has recipes: context shift, attention sinks, eviction. */
typedef struct fovea_move {
  size_t struct_size;              /* set by fovea_move_init() */
  const fovea_sequence *sequence;  /* holds all of these positions; only the segments' memory is written */
  int64_t layers;                  /* layers 0 to layers - 1 move, which every segment must have; default 1 */
  int64_t kv_heads, qk_dim, v_dim; /* at least 1 */
  int64_t begin, end, to;          /* from 0; begin at most end */

  /* Rotates keys on, so that they have the angles of their new positions. An embedding with a base or with
   * frequencies; tables have no differences of positions, so give what they were made of. NULL (default): keys keep
   * their angles, which is right if queries have rotary positions that still count what was taken away. */
  const fovea_rotary *rotary;
  int64_t rotate_by;  /* from -2^40 to 2^40, on every axis. Default FOVEA_ROTATE_AS_MOVED: to - begin */
  int64_t k_hadamard; /* as the keys were appended with; used with `rotary`. Default 0 */
} fovea_move;

/* Sets these seven fields, and the others to their defaults. Callers in C use fovea_move_init(). */
FOVEA_API void fovea_move_init_sized(fovea_move *move, size_t struct_size, const fovea_sequence *sequence,
                                     int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end,
                                     int64_t to);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_move_init(fovea_move *move, const fovea_sequence *sequence, int64_t kv_heads,
                                   int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end, int64_t to) {
  fovea_move_init_sized(move, sizeof *move, sequence, kv_heads, qk_dim, v_dim, begin, end, to);
}

/* Moves the rows, in any format and layout, without memory of its own. Values, and keys without `rotary`, keep
 * their bits where type or format of both places are the same. A rotated key becomes f32, is rotated, and is
 * written as fovea_append() writes: elements are rounded once, codes are made anew with new scales. So each call
 * with `rotary` costs narrow keys a rounding; docs/caches.md says how much. Rotated keys, and sides with a format,
 * have at most 4096 dims. Keys that share scales or words are written in whole groups, as by fovea_append(); if
 * such a group has more than 4096 numbers of a head, rows move by at least a group. Positions that were left keep
 * what they held. The call runs and fails as fovea_append() does; it uses a thread for the keys and one for the
 * values of each layer. */
FOVEA_API fovea_status fovea_sequence_move(const fovea_move *move, const fovea_execution *execution,
                                           fovea_error *error);

/* ---- Caches: kinds ------------------------------------------------------------------------------------------- */

/* Memory for keys and values in pages of equal size: pages of a block table, or one page for each contiguous cache
 * or ring. Prepare it with fovea_pages_init(), then set k and v, and change what differs from the defaults. The
 * fovea_cache functions below make segments of pages in the caller's array. They allocate nothing, and read no key
 * and no value. Calls may run at the same time if no two write the same array. */
typedef struct fovea_pages {
  size_t struct_size;        /* set by fovea_pages_init() */
  int64_t count, page_rows;  /* at least 1: how many pages, and how many positions fit in a page */
  int64_t kv_heads;          /* at least 1 */
  int64_t qk_dim, v_dim;     /* at least 1 */
  void *k, *v;               /* the first row (panel) of kv head 0 of page 0 */
  fovea_type k_type, v_type; /* default: the type that the initialiser was given */
  fovea_key_layout k_layout; /* PANELS: page_rows is a multiple of FOVEA_PANEL_ROWS */
  /* `batch` is the distance between pages; `row` of k is, with panels, the distance between panels. Default:
   * contiguous (page, head, row, dim); k then has count * k_strides.batch elements, v count * v_strides.batch.
   * fovea_strides_rows_before_heads(page_rows, kv_heads, dim) are the strides of (page, row, head, dim). The
   * initialiser computes them, since callers allocate by them; a size that is changed later does not change them.
   * If rows would then share memory (but for strides of 0, which repeat), calls return FOVEA_ERROR_ARGUMENT. */
  fovea_strides k_strides, v_strides;
  /* How many layers of a model share block tables, and so each page; they lie k_layer (v_layer) elements apart.
   * Default: 1 layer, and the elements of all pages, so that layers follow each other. If you change the strides of
   * pages, set k_layer and v_layer, too. */
  int64_t layers, k_layer, v_layer;
  size_t segment_size; /* bytes of a segment made of these pages; set by fovea_pages_init() */

  /* Formats of codes in place of k_type and v_type; fovea_pages_set_formats() sets these fields and the strides.
   * NULL (default): none. All distances of a side with a format count bytes. `row` of its strides, k_scales and
   * v_scales mean what they do in segments; k_scale_page (v_scale_page) is the distance between the scales of
   * pages, and of zeros, 0 if all pages have the same. If keys share scales or words, page_rows is a multiple of
   * these keys. */
  const fovea_format *k_format, *v_format;
  fovea_code_scales k_scales, v_scales; /* of page 0; the centre is that of all pages */
  int64_t k_scale_page, v_scale_page;
} fovea_pages;

/* Sets sizes, types, layout and strides, and k and v to NULL. Callers in C use fovea_pages_init(). */
FOVEA_API void fovea_pages_init_sized(fovea_pages *pages, size_t struct_size, size_t segment_size, int64_t count,
                                      int64_t page_rows, int64_t kv_heads, int64_t qk_dim, int64_t v_dim,
                                      fovea_type type, fovea_key_layout k_layout);

/* Passes the sizes of the struct and of segments that this program was compiled with. */
static inline void fovea_pages_init(fovea_pages *pages, int64_t count, int64_t page_rows, int64_t kv_heads,
                                    int64_t qk_dim, int64_t v_dim, fovea_type type, fovea_key_layout k_layout) {
  fovea_pages_init_sized(pages, sizeof *pages, sizeof(fovea_segment), count, page_rows, kv_heads, qk_dim, v_dim,
                         type, k_layout);
}

/* Gives keys and values formats of codes (NULL: that side stays as it is). Call it after fovea_pages_init(), and
 * before you set k, v and pointers to scales. It sets a side's type, and its strides for (layer, page, head, row)
 * without gaps: codes of a layer take count * k_strides.batch bytes, or with v_strides those of values. Scales
 * apart, and zeros, get the strides of (layer, page, head, keys, dims), and each take count * k_scale_page bytes a
 * layer; if all keys share them, those of (layer, head, dims), and k_scales.layer bytes a layer. All strides may
 * then be changed: for one scale of all heads and layers, set `head` and `layer` to 0. Errors: those of
 * fovea_format_bytes(); FOVEA_ERROR_ARGUMENT if page_rows is no multiple of the keys that share scales or words;
 * those of fovea_format_panel_bytes() with panels. On failure nothing has changed. */
FOVEA_API fovea_status fovea_pages_set_formats(fovea_pages *pages, const fovea_format *k_format,
                                               const fovea_format *v_format, fovea_error *error);

/* Contiguous, with room to grow: makes one segment, of positions 0 to page_rows - 1 in page `page`. `error` may be
 * NULL. */
FOVEA_API fovea_status fovea_cache_contiguous(const fovea_pages *pages, int64_t page, fovea_segment *segment,
                                              fovea_error *error);

/* Paged: positions i * page_rows to (i + 1) * page_rows - 1 are in page table[i]; the table has table_length
 * numbers. Makes segments of the whole pages that hold positions begin to end - 1, and reads no other number of the
 * table. Pages that follow each other in memory become one segment. `segments` has room for segment_limit segments;
 * if more are needed, the call fails and the error text says how many. One for each page is always enough. Sets
 * *sequence to these segments. On failure neither `segments` nor *sequence is written. */
FOVEA_API fovea_status fovea_cache_paged(const fovea_pages *pages, const int32_t *table, int64_t table_length,
                                         int64_t begin, int64_t end, fovea_segment *segments, int64_t segment_limit,
                                         fovea_sequence *sequence, fovea_error *error);

/* Paged, for all entries of a batch: like fovea_cache_paged() for each entry in turn, with all segments in one
 * array. The table of entry b is row b of `tables`, table_length numbers, and its positions are begins[b] (NULL: 0)
 * to ends[b] - 1. Sets sequences[b] to the segments of entry b. */
FOVEA_API fovea_status fovea_cache_paged_batch(const fovea_pages *pages, int64_t batch, const int32_t *tables,
                                               int64_t table_length, const int64_t *begins, const int64_t *ends,
                                               fovea_segment *segments, int64_t segment_limit,
                                               fovea_sequence *sequences, fovea_error *error);

/* The most segments that a ring has. */
#define FOVEA_RING_SEGMENTS 2

/* Ring: position p is in row p % page_rows of page `page`, so the page holds the latest page_rows positions. Makes
 * up to FOVEA_RING_SEGMENTS segments for positions begin to end - 1, at most page_rows positions. In a step with R
 * new rows, `end` is the length with these rows and `begin` is end - page_rows, or 0 if that is negative: append
 * the rows, then attend with kv_begins of `begin`. For windows, if the new rows are computed at once, page_rows
 * must be at least window_left + R. For chunks, if rows are computed as soon as all the keys that they see are
 * there, page_rows must be at least chunk_left + chunk_size + chunk_right + R - 1. With panels the first segment
 * begins at a whole panel, which no longer holds the positions before `begin`; with a format, at a whole word and
 * group of keys. A group that shares scales holds keys of one round only: `begin` must then be at least `end`,
 * rounded up to a whole group, - page_rows. */
FOVEA_API fovea_status fovea_cache_ring(const fovea_pages *pages, int64_t page, int64_t begin, int64_t end,
                                        fovea_segment segments[FOVEA_RING_SEGMENTS], fovea_sequence *sequence,
                                        fovea_error *error);

/* Counts the users of each page: sequences share a prefix if their tables name the same pages. Only one thread at a
 * time may use a pool. */
typedef struct fovea_page_pool {
  int32_t *references; /* one for each page, in the caller's memory; free pages are chained in it */
  int32_t count;       /* how many pages */
  int32_t free_count;  /* how many of them are free */
  int32_t first_free;  /* the first page of the chain; `count` if no page is free */
} fovea_page_pool;

/* Makes a pool of `count` free pages; `references` has room for `count` numbers. Error:
 * FOVEA_ERROR_ARGUMENT. */
FOVEA_API fovea_status fovea_page_pool_init(fovea_page_pool *pool, int32_t *references, int32_t count,
                                            fovea_error *error);

/* Sets *page to a free page, which then has one user. FOVEA_ERROR_MEMORY if no page is free. */
FOVEA_API fovea_status fovea_page_take(fovea_page_pool *pool, int32_t *page, fovea_error *error);

/* Share adds a user to a page. Release removes one; a page without users is free. FOVEA_ERROR_ARGUMENT if the page
 * is not in use. */
FOVEA_API fovea_status fovea_page_share(fovea_page_pool *pool, int32_t page, fovea_error *error);
FOVEA_API fovea_status fovea_page_release(fovea_page_pool *pool, int32_t page, fovea_error *error);

/* Returns 1 if a page has more than one user, else 0. */
FOVEA_API int fovea_page_is_shared(const fovea_page_pool *pool, int32_t page);

/* Copy on write, before rows are appended to a page that holds `rows` rows (0 to page_rows). If the page has other
 * users, a free page replaces it: the rows are copied there, and *page becomes its number. A page with one user
 * stays.
 *
 * `pages` describes all memory that the pool's numbers name: an array of `pages_count` (at least 1) structs, each
 * with all of its layers. If layers have memory of their own but share a table, there is one struct for each such
 * memory. The rows of a layer that is left out are lost. */
FOVEA_API fovea_status fovea_page_own(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool,
                                      int32_t *page, int64_t rows, fovea_error *error);

/* Makes room for new rows of a batch: entry b has lengths[b] rows and is to have ends[b]. The table of entry b is
 * row b of `tables`, table_length numbers, of which the first page_counts[b] are pages of the entry; all others may
 * be anything. Set page_counts to 0 for a new sequence; this function and fovea_page_truncate() keep it. Each page
 * that new rows lie in becomes the entry's own, as fovea_page_own() does, and free pages are added to the table up
 * to ends[b]. Pages that an earlier call has added stay, so a step that was given up after this call may be tried
 * again, or another one, and no page is lost. All structs of `pages` have the same page_rows, and at least as many
 * pages as the pool. If the call fails (FOVEA_ERROR_MEMORY: there are too few free pages for the batch), no table,
 * count or page of any entry has changed. Other errors: FOVEA_ERROR_SPACE (a table is too short), FOVEA_ERROR_ARGUMENT
 * (lengths and ends do not ascend, a table names a page that is not in use, ...). */
FOVEA_API fovea_status fovea_page_extend(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool,
                                         int64_t batch, int32_t *tables, int64_t table_length, int64_t *page_counts,
                                         const int64_t *lengths, const int64_t *ends, fovea_error *error);

/* The reverse: entry b keeps the pages of its first lengths[b] rows, and releases the others from page_counts[b]
 * downwards, for instance those of drafts that were rejected. A length of 0 releases the whole table of a sequence
 * that has ended. Numbers of a table below 0 are passed over: pages of a window that were given back before.
 * page_rows is that of the pages; tables and counts are those of fovea_page_extend(), also of one entry alone. On
 * failure (FOVEA_ERROR_ARGUMENT: a page is not in use, ...) nothing has changed. */
FOVEA_API fovea_status fovea_page_truncate(fovea_page_pool *pool, int64_t page_rows, int64_t batch,
                                           const int32_t *tables, int64_t table_length, int64_t *page_counts,
                                           const int64_t *lengths, fovea_error *error);

/* ---- What this machine gets --------------------------------------------------------------------------------- */

/* One instruction set that this build has or could have. Later versions add fields at the end only. */
typedef struct fovea_isa_report {
  size_t struct_size; /* set by the caller to sizeof(fovea_isa_report) before the call */
  const char *name;   /* of a set, "avx512"; of one table of a set with several, "avx512/vnni" */
  const char *base;   /* the set whose operations this one has, but for those that it adds: of a table its set, of
                         "avx512_bf16" "avx512". Else its own name */
  int usable;         /* 1: an execution may name it */
  int chosen;         /* 1: the set that is taken if an execution names none; 0 for tables of a set */
  int meant;          /* 1: the table of a set that the set's name means here, so that both names are one */
  fovea_type type;    /* FOVEA_F32: may be chosen for any problem. Else it has faster products for Q and K of this
                         type, and for bf16 mode if that is bf16; it is chosen for these only. An execution that names
                         it may be any */
  const char *reason; /* why it is chosen or not */
} fovea_isa_report;

/* Reports on instruction set `index`, from 0 on: sets, best first, then tables of sets. Texts live as long as the
 * process. FOVEA_ERROR_ARGUMENT if there are no more. Thread-safe. */
FOVEA_API fovea_status fovea_isa_at(int index, fovea_isa_report *report);

/* Reports on the set that a problem in exact mode runs on, and that fovea_plan_isa() names, if the execution's
 * isa is this one (NULL: it names none) and the type of Q and K is `type` (FOVEA_F32: also if theirs differ).
 * `error` may be NULL. FOVEA_ERROR_ARGUMENT if no instruction set has that name; FOVEA_ERROR_UNSUPPORTED if
 * this build or this CPU does not have it. Thread-safe. */
FOVEA_API fovea_status fovea_isa_find(const char *isa, fovea_type type, fovea_isa_report *report,
                                      fovea_error *error);

/* A group of kernels and of code around them, which a build may leave out. */
typedef struct fovea_group_report {
  const char *name;    /* "formats", "lists", ... */
  const char *what;    /* what calls cannot have without it, in words */
  const char *without; /* the switch that leaves it out: "FOVEA_WITHOUT_FORMATS", ... */
  int built;           /* 1: this build has it; 0: calls that need it fail with FOVEA_ERROR_UNSUPPORTED */
} fovea_group_report;

/* What fovea_info() returns. Later versions add fields at the end only. */
typedef struct fovea_library_info {
  size_t struct_size;               /* set by the caller to sizeof(fovea_library_info) before the call */
  const char *version;              /* "0.1.0" */
  const char *cpu;                  /* the CPU's own name, or its architecture */
  const char *isa;                  /* the chosen instruction set; fovea_isa_at() says why */
  const char *threading;            /* "OpenMP" or "none" */
  int threads;                      /* fovea_default_threads() */
  const char *environment;          /* what FOVEA_ISA did, or why it was ignored; "" if it is not set */
  int group_count;                  /* groups of this version */
  const fovea_group_report *groups; /* group_count reports */
} fovea_library_info;

/* Reports on the library and the machine. Texts live as long as the process. The environment variable
 * FOVEA_ISA=<name> caps the choice of instruction sets; the first call that needs it reads it once. */
FOVEA_API fovea_status fovea_info(fovea_library_info *info);

/* Lets plans that are made from now on, by any thread, use AMX for what is in bf16 or int8, if they name no isa and
 * the environment variable FOVEA_ISA is not set. No result changes, and nothing undoes it. On Linux this asks the
 * system, for the whole process: a signal that interrupts work with AMX then has a frame that is 8 KB larger, and
 * alternate signal stacks must have room for that. If the stack of a thread is too small, the call fails. `error`
 * may be NULL. Error: FOVEA_ERROR_UNSUPPORTED (there is no AMX, or it is not permitted). Thread-safe. */
FOVEA_API fovea_status fovea_allow_amx(fovea_error *error);

/* Returns "major.minor.patch" of the library that runs. */
FOVEA_API const char *fovea_version(void);

#ifdef __cplusplus
}
#endif

#endif
