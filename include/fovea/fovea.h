/* Fovea: attention kernels for CPUs, with one answer.
 *
 * O = softmax(scale * Q K^T) V over the keys that a row may see, computed tile by tile with the online softmax of
 * Milakov & Gimelshein (2018) and Dao et al. (FlashAttention, 2022). The same inputs give the same bits on every
 * instruction set, for any number of threads, any batch and any layout; docs/numerics.md states the arithmetic.
 *
 * Three ways in, all ending in the same code:
 *   fovea_attention(), fovea_attend()       one call: contiguous tensors; all that fovea_problem describes;
 *   fovea_plan_create(), fovea_plan_run()   a plan takes all layers of a step; a step of other lengths, as
 *                                           every one in decoding, has a plan of its own;
 *   fovea_run_bind(), fovea_run_task()      single tasks of a plan, for engines whose own threads do the work.
 *
 * Every size and stride counts elements, not bytes. The library never prints, never ends the process, reads no byte
 * outside the elements that a problem names, and writes nothing but the outputs. What is set and would not be used
 * is refused with FOVEA_ERROR_UNUSED: each field says below what it goes with. Functions are safe to call from
 * many threads at once as long as no two calls write the same output or scratch.
 *
 * A thread may have any rounding mode, flush subnormals to zero and have traps unmasked: the results are the same.
 * A function that computes sets the floating-point environment of its thread for that time and puts it back;
 * callbacks run in the caller's own. Exception flags that were set stay set, others may be added.
 */
#ifndef FOVEA_FOVEA_H
#define FOVEA_FOVEA_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; fovea_version() tells that of the library. */
#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0

#if defined(_WIN32) && defined(FOVEA_SHARED)
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

/* What a call returns. The values never change; new ones may be added. When a call does not return FOVEA_OK it has
 * written nothing to the outputs. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  FOVEA_ERROR_NULL = 10,        /* a pointer that is needed is NULL */
  FOVEA_ERROR_STRUCT_SIZE = 11, /* a struct was not prepared by its initialiser */
  FOVEA_ERROR_SIZE = 12,        /* a length, head count or dimension is out of range */
  FOVEA_ERROR_HEADS = 13,       /* kv_heads does not divide heads */
  FOVEA_ERROR_STRIDE = 14,      /* a stride overflows, or makes elements of an output share memory */
  FOVEA_ERROR_SCALE = 15,       /* the scale is not finite */
  FOVEA_ERROR_RULE = 16,        /* a window, chunk or offset is out of range */
  FOVEA_ERROR_LENGTHS = 17,     /* lengths of batch entries that go beyond the tensors or decrease */
  FOVEA_ERROR_OVERLAP = 18,     /* an output shares memory with an input or with the other output */
  FOVEA_ERROR_ALIGNMENT = 19,   /* a tensor is not aligned to its element */
  FOVEA_ERROR_SCRATCH = 20,     /* scratch is too small or not aligned to FOVEA_SCRATCH_ALIGNMENT */
  FOVEA_ERROR_MEMORY = 21,      /* an allocation failed */
  FOVEA_ERROR_TYPE = 22,        /* a type is none of its enumeration */
  FOVEA_ERROR_MASK = 23,        /* a mask's key or bit strides, or its number of keys, are out of range */
  FOVEA_ERROR_SOFTCAP = 24,     /* the softcap is negative or not finite, or scale / softcap is not */
  FOVEA_ERROR_ROTARY = 25,      /* dims, base, frequencies or tables of a rotary embedding are out of range */
  FOVEA_ERROR_POSITION = 26,    /* a position is out of range */
  FOVEA_ERROR_SEGMENTS = 27,    /* segments of a cache that have gaps, overlap, or do not hold what is asked for */
  FOVEA_ERROR_STATE = 28,  /* a state whose sizes or keys are not those of the problem or of the other states */
  FOVEA_ERROR_UNUSED = 29, /* something is set that would not be used, for want of another setting or beside it */
  FOVEA_ERROR_ISA_UNKNOWN = 30,  /* no instruction set has that name */
  FOVEA_ERROR_ISA_UNUSABLE = 31, /* this build or this CPU does not have that instruction set */
  FOVEA_ERROR_TASK = 40          /* a task, phase, worker or thread count is out of range */
} fovea_status;

/* A short constant text for a status, never NULL. */
FOVEA_API const char *fovea_status_text(fovea_status status);

/* The caller's buffer for what went wrong: names the argument, its value and the limit, in one line. Any function
 * that takes one accepts NULL. It is written only when the call fails. */
typedef struct fovea_error {
  fovea_status status; /* what the call returned */
  char text[252];      /* ends with a zero */
} fovea_error;

/* ---- Describing a problem ----------------------------------------------------------------------------------- */

/* Distance in elements between neighbours along batch, head and row. The last axis (the dimension) is always
 * contiguous. Any order of axes; 0 repeats an input along that axis; negative strides are allowed, the tensor's
 * pointer then names the element with all indices 0. An output's strides must keep its elements apart. */
typedef struct fovea_strides {
  int64_t batch, head, row;
} fovea_strides;

/* How the numbers of a tensor are stored. Everything is computed in f32: f16 (IEEE binary16) and bf16 are widened
 * exactly and give the bits that the same numbers give as f32; results are rounded once, to nearest even, and keep
 * their subnormals. */
typedef enum fovea_type { FOVEA_F32 = 0, FOVEA_F16 = 1, FOVEA_BF16 = 2 } fovea_type;

/* A mask tensor says for every (batch entry, query head, row, key) whether the key is seen, or what is added to its
 * score. It takes keys away as the other rules do: a key is seen when all of them allow it.
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

/* Distance between neighbours of a mask along each axis, in its elements (bits for BITS, where batch, head and row
 * are multiples of 8). 0 repeats the mask along that axis; key is 1 or 0. */
typedef struct fovea_mask_strides {
  int64_t batch, head, row, key;
} fovea_mask_strides;

/* An attention sink takes part in the softmax as one more key whose value is zero: the sum of weights gains
 * exp(sink), as does LSE. Rows that see no key still get zeros. */
typedef enum fovea_sink {
  FOVEA_SINK_NONE = 0,     /* weights sum to one */
  FOVEA_SINK_PER_HEAD = 1, /* fovea_tensors.sinks has one number per query head, in natural units, as LSE */
  FOVEA_SINK_ZERO = 2      /* a sink of 0 for every head: "softmax-1", weights sum to less than one */
} fovea_sink;

/* Where memory comes from, for callers who do not want malloc() and free(): both functions, or neither. They are
 * called by the thread that calls the library, never by its workers, and by several threads at once where these
 * share a plan. */
typedef struct fovea_allocator {
  void *context; /* handed to both */
  /* `size` bytes at a multiple of `alignment`, a power of 2; NULL when there are none. Memory that is not aligned
   * so is given back at once and counts as none. */
  void *(*allocate)(void *context, size_t size, size_t alignment);
  void (*release)(void *context, void *pointer); /* what allocate() returned, never NULL */
} fovea_allocator;

/* Passed as `offset`: each batch entry takes kv_len - q_len, so that the last row's own key is the last key. */
#define FOVEA_OFFSET_BOTTOM_RIGHT INT64_MIN
/* Passed as one side of a window or chunk rule: no limit on that side. */
#define FOVEA_UNLIMITED ((int64_t)-1)

/* One attention problem: sizes, strides and rules, without pointers to the tensors. Prepare it with
 * fovea_problem_init(), then change what differs from the defaults. Fields are only ever added at the end, and a
 * program compiled with fewer of them goes on working with a newer library.
 *
 * Shapes: Q (batch, heads, q_len, qk_dim), K (batch, kv_heads, kv_len, qk_dim), V (batch, kv_heads, kv_len, v_dim),
 * O (batch, heads, q_len, v_dim), LSE (batch, heads, q_len). Query head h reads kv head h / (heads / kv_heads).
 *
 * Which keys row i of a batch entry sees. Its own key is i + offset. Every rule below takes keys away; all compose:
 *   lengths        keys from 0 to the entry's kv length;
 *   causal         no key after the own key;
 *   window         at most window_left keys before the own key and window_right after it;
 *   chunks         keys lie in chunks of chunk_size (chunk number floor(position / chunk_size)); the row sees the
 *                  whole chunk of its own key, chunk_left keys before that chunk and chunk_right keys after it
 *                  (truncated attention for streaming).
 * A row that sees no key gets zeros, and -Inf as its LSE (with a sink: the sink). What a row does not see cannot
 * reach its output, whatever the bytes there are. */
typedef struct fovea_problem {
  size_t struct_size; /* set by fovea_problem_init() */

  int64_t batch, heads, kv_heads; /* at least 1 */
  int64_t q_len, kv_len;          /* at least 0; with packed batches all rows, all keys */
  int64_t qk_dim, v_dim;          /* at least 1 */

  fovea_strides q_strides, k_strides, v_strides, o_strides; /* default: contiguous in the order of the shapes */
  fovea_strides lse_strides;                                /* default: contiguous; LSE is f32 */

  double scale; /* any finite number; default 1/sqrt(qk_dim) */

  int causal;                        /* 0 (default) or 1 */
  int64_t window_left, window_right; /* 0 or more; FOVEA_UNLIMITED (default) */
  int64_t chunk_size;                /* 0 (default): no chunks */
  int64_t chunk_left, chunk_right;   /* 0 (default) or more, or FOVEA_UNLIMITED; only with a chunk_size */
  int64_t offset;                    /* default FOVEA_OFFSET_BOTTOM_RIGHT; 0 is top-left; may be negative */

  /* Per batch entry; NULL (default) where not used. Read by fovea_plan_create() only, which copies them. */
  const int64_t *offsets; /* an array of `batch` int64, in place of `offset`, which stays as it is by default */
  const int64_t *q_lens;  /* an array of `batch` int64, each 0..q_len; rows beyond see no key */
  const int64_t *kv_lens; /* an array of `batch` int64, each 0..kv_len; keys beyond are not seen */

  /* Packed batches of different lengths: entry b owns rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1 of Q, O and
   * LSE and keys cu_seqlens_kv[b] to cu_seqlens_kv[b + 1] - 1. Arrays of `batch` + 1 int32 that never decrease, the
   * first at least 0, the last at most q_len (kv_len). Batch strides are then not used. Rows outside every entry
   * are not written. Either may be given without the other; neither goes with the matching q_lens or kv_lens. */
  const int32_t *cu_seqlens_q;
  const int32_t *cu_seqlens_kv;

  const char *isa; /* NULL (default): the best this CPU has; else a name that fovea_info() lists as usable */

  fovea_type q_type, k_type, v_type, o_type; /* default FOVEA_F32; any mix */

  /* The mask of row i and key mask_begin + j of batch entry b and query head h is element
   * b * batch + h * head + i * row + j * key; with packed batches rows and keys count from the entry's first. Keys
   * before mask_begin (below, 0 by default) are left to the other rules, and nothing is added to their scores. Rows
   * may share elements: strides may be any numbers. */
  fovea_mask_type mask_type;       /* default FOVEA_MASK_NONE */
  fovea_mask_strides mask_strides; /* default: contiguous (batch, heads, q_len, kv_len), see fovea_mask_layout() */
  /* Keys that the mask has, 0 to kv_len - mask_begin (with mask_begins to kv_len); keys behind these are not seen.
   * FOVEA_UNLIMITED (default): all from the first on. */
  int64_t mask_keys;

  double softcap;  /* 0 (default): none; else scores become softcap * tanh(scale * q.k / softcap) */
  fovea_sink sink; /* default FOVEA_SINK_NONE */

  /* Of the plan, which keeps it, and of scratch that a run allocates. Default: none; malloc() and free() then. */
  fovea_allocator allocator;

  /* 1: K and V are caches of segments, fovea_tensors.sequences; k_type, v_type, their strides and cu_seqlens_kv are
   * then not used. kv_len is the longest entry, in positions. Default 0. */
  int segmented;
  /* Only with segments: an array of `batch` int64, each 0..kv length of the entry; positions before are not held
   * any more and not seen. NULL (default): all of them 0. */
  const int64_t *kv_begins;

  /* Only keys at positions keys_begin to keys_end - 1 are seen; one more rule beside those above. No other key is
   * read, and segments need not hold any. From 0 to kv_len, the default; FOVEA_UNLIMITED as keys_end is kv_len. */
  int64_t keys_begin, keys_end;
  int to_state; /* 1: the result is a state over these keys, fovea_tensors.state, not O and LSE. Default 0 */

  /* The key that the first element of a mask row belongs to, 0 (default) to kv_len: the first that a ring holds, or
   * the first of a tree of drafts. No byte before that element is read. With mask_begins (NULL by default) each
   * batch entry has its own, 0 to its kv length: `batch` numbers, copied by fovea_plan_create(); mask_begin is then
   * 0. Neither may be set without a mask_type, nor may mask_keys. */
  int64_t mask_begin;
  const int64_t *mask_begins;
} fovea_problem;

/* Fills the first struct_size bytes: the sizes given, contiguous strides, the default scale, no rules. Callers in C
 * use fovea_problem_init(), which passes the size of the struct that they were compiled with, so that a library
 * with more fields neither writes nor reads beyond it and takes the defaults for the rest. No check is made here,
 * and no error is possible. */
FOVEA_API void fovea_problem_init_sized(fovea_problem *problem, size_t struct_size, int64_t batch, int64_t heads,
                                        int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t qk_dim,
                                        int64_t v_dim);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_problem_init(fovea_problem *problem, int64_t batch, int64_t heads, int64_t kv_heads,
                                      int64_t q_len, int64_t kv_len, int64_t qk_dim, int64_t v_dim) {
  fovea_problem_init_sized(problem, sizeof *problem, batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim);
}

/* Strides for (batch, rows, heads, dim) tensors, the layout that projections produce. */
FOVEA_API fovea_strides fovea_strides_rows_before_heads(int64_t rows, int64_t heads, int64_t dim);

/* Strides of a contiguous mask of that shape. An extent of 1 is repeated along its axis, as numpy does; rows of
 * bits begin at whole bytes. */
FOVEA_API fovea_mask_strides fovea_mask_layout(fovea_mask_type type, int64_t batch, int64_t heads, int64_t rows,
                                               int64_t keys);

/* ---- Caches: keys and values in segments --------------------------------------------------------------------- */

/* How the keys of a segment lie.
 *   ROWS     one row of qk_dim elements a key;
 *   PANELS   FOVEA_PANEL_ROWS keys side by side, panel[dim][key]: the fastest for decoding. Of bf16 pairs of dims
 *            stay together, panel[dim / 2][key][dim % 2], an odd last dim beside a zero. A panel takes
 *            fovea_panel_elements() elements and is there as a whole, even where it is not full yet. */
typedef enum fovea_key_layout { FOVEA_KEYS_IN_ROWS = 0, FOVEA_KEYS_IN_PANELS = 1 } fovea_key_layout;

/* Keys of one panel. */
#define FOVEA_PANEL_ROWS 16

/* Elements of one panel of keys: FOVEA_PANEL_ROWS * dim, of bf16 with dim rounded up to even. */
FOVEA_API int64_t fovea_panel_elements(int64_t qk_dim, fovea_type type);

/* Keys and values of one sequence at positions first to first + rows - 1, for all of its kv heads, and for all
 * layers of a model that keep them at equal distances. Strides count elements and may be negative; the last axis is
 * contiguous. Attention only reads; fovea_append() writes. Fields are only ever added at the end, and 0 is the
 * default of each that is: fill a segment with designated initialisers, or clear it first. */
typedef struct fovea_segment {
  int64_t first, rows;
  void *k, *v;               /* kv head 0 of position `first`; with panels the panel that begins there */
  int64_t k_head, k_row;     /* between kv heads, and between rows (panels: between panels) */
  int64_t v_head, v_row;     /* likewise; values always lie in rows */
  fovea_type k_type, v_type; /* may differ from segment to segment */
  fovea_key_layout k_layout; /* PANELS: `first` is a multiple of FOVEA_PANEL_ROWS */
  int64_t layers;            /* layers that the segment has; 0 and 1: one */
  int64_t k_layer, v_layer;  /* between layers; not used where there is one */
} fovea_segment;

/* The segments of one batch entry, positions ascending without gaps or overlap. They hold every position from the
 * entry's kv_begin to its kv length (and may hold more). Sequences may share segments. Prepare it with
 * fovea_sequence_of(), or have it made by fovea_cache_paged() and the like. This struct has no more fields in any
 * later version. */
typedef struct fovea_sequence {
  const fovea_segment *segments; /* in the order of their positions */
  int64_t count;                 /* how many there are */
  size_t segment_size;           /* bytes from one to the next: sizeof(fovea_segment) where they were made */
} fovea_sequence;

/* A sequence of the segments of an array. Tells the library the size of the segments that this program was compiled
 * with: it steps through them by that size, and takes the defaults for fields that they do not have. */
static inline fovea_sequence fovea_sequence_of(const fovea_segment *segments, int64_t count) {
  fovea_sequence sequence;
  sequence.segments = segments;
  sequence.count = count;
  sequence.segment_size = sizeof *segments;
  return sequence;
}

/* ---- States: attention over some of the keys ---------------------------------------------------------------- */

/* Keys of a span. States of ranges that are cut at multiples of it have the bits of one run over all keys. */
#define FOVEA_SPAN_KEYS 2048

/* What every row has gathered from the keys at positions keys_begin to keys_end - 1, in memory of the caller that
 * may be copied, stored or sent to another machine: no part of it depends on the instruction set.
 *
 * A row is fovea_state_numbers() floats: one group of dim + 2 for each node of the tree of spans that the range is
 * made of, in ascending order. (Node (k, i) is spans i * 2^k to (i + 1) * 2^k - 1, span i is keys i *
 * FOVEA_SPAN_KEYS to (i + 1) * FOVEA_SPAN_KEYS - 1, and the nodes are the fewest that hold the range;
 * docs/states.md.) A group is the sum of 2^(s - m) * V over the keys that the row sees, s being the score in units
 * of log2; then m, the largest s; then the sum of 2^(s - m). Where a row sees no key, m is -Inf and the rest is 0.
 */
typedef struct fovea_state {
  size_t struct_size;              /* set by fovea_state_init() */
  int64_t batch, heads, rows, dim; /* of the outputs; with cu_seqlens_q batch is 1 */
  int64_t keys_begin, keys_end;    /* positions, 0 <= keys_begin <= keys_end */
  float *numbers;                  /* the one with all indices 0 */
  fovea_strides strides;           /* default: contiguous (batch, heads, rows) */
  const char *isa;                 /* for merging, as in fovea_problem */
} fovea_state;

/* Numbers of one row of a state; 0 where the range is empty or any of the three is out of range. */
FOVEA_API int64_t fovea_state_numbers(int64_t dim, int64_t keys_begin, int64_t keys_end);

/* Sets these seven; the rest is as described. Callers in C use fovea_state_init(). */
FOVEA_API void fovea_state_init_sized(fovea_state *state, size_t struct_size, int64_t batch, int64_t heads,
                                      int64_t rows, int64_t dim, int64_t keys_begin, int64_t keys_end,
                                      float *numbers);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_state_init(fovea_state *state, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                                    int64_t keys_begin, int64_t keys_end, float *numbers) {
  fovea_state_init_sized(state, sizeof *state, batch, heads, rows, dim, keys_begin, keys_end, numbers);
}

/* Merges the states of two ranges of which the second begins where the first ends into that of both: `merged` has
 * the sizes of both, keys_begin of `left`, keys_end of `right`, and memory of its own. Cut at a multiple of
 * FOVEA_SPAN_KEYS, it has the bits of the state that one run over all its keys leaves; cut elsewhere, the two
 * differ by rounding. On the calling thread, without allocating. `error` may be NULL. */
FOVEA_API fovea_status fovea_state_merge(const fovea_state *left, const fovea_state *right,
                                         const fovea_state *merged, fovea_error *error);

/* ---- Running it --------------------------------------------------------------------------------------------- */

/* The tensors of one run. Each pointer names the element with all indices 0, whether it is used or not. Used are
 * rows of entries; of K and V, for each entry, all keys from the first that one of its rows sees by the rules to
 * the last; of a mask the elements of the rows that see any, for these keys and those before them from a multiple
 * of 128 on. Nothing else need be there: q, k, v and mask may be NULL where nothing of them is used. Inputs may
 * overlap each other. O and LSE (or the state) share no byte with what is used of the inputs, nor with each other;
 * rows of one between those of another are no overlap. (fovea_state_finish() and fovea_state_from_output() compare
 * the ranges from the first to the last element of each.) What the problem does not use is NULL. */
typedef struct fovea_tensors {
  size_t struct_size; /* set by fovea_tensors_init() */
  const void *q;
  const void *k;
  const void *v;
  void *o;
  float *lse; /* NULL: not wanted. Natural logarithm of the sum of exp(score) over the keys seen and the sink */

  const void *mask;   /* needed with a mask_type, else NULL */
  const float *sinks; /* needed with FOVEA_SINK_PER_HEAD, else NULL: `heads` numbers */

  /* Needed with `segmented`, else NULL: one per batch entry; k and v are then NULL. */
  const fovea_sequence *sequences;

  /* Needed with to_state, else NULL: the problem's sizes and keys; o and lse are then NULL. fovea_state_finish()
   * and fovea_state_from_output() take all three. */
  const fovea_state *state;

  int64_t layer; /* with `segmented`: the layer of every segment that is read, from 0. Default 0 */
} fovea_tensors;

/* Sets these five; the rest is NULL. Callers in C use fovea_tensors_init(). */
FOVEA_API void fovea_tensors_init_sized(fovea_tensors *tensors, size_t struct_size, const void *q, const void *k,
                                        const void *v, void *o, float *lse);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_tensors_init(fovea_tensors *tensors, const void *q, const void *k, const void *v, void *o,
                                      float *lse) {
  fovea_tensors_init_sized(tensors, sizeof *tensors, q, k, v, o, lse);
}

/* One task of a job. Tasks of one job may run in any order and at the same time. */
typedef void (*fovea_task_function)(void *job, int64_t task, int worker);

/* A caller's own parallel-for: calls run(job, task, worker) exactly once for every task from 0 to tasks - 1 and
 * returns when all are done. `worker` is from 0 to workers - 1, and no two calls that overlap in time share it. */
typedef void (*fovea_parallel_for)(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* How to run. NULL in its place means: all defaults. */
typedef struct fovea_execution {
  size_t struct_size; /* set by fovea_execution_init() */
  int threads;        /* workers to use; 0 (default): fovea_default_threads(); 1: the calling thread alone. OpenMP
                         gives 64 at most, or as many as there are CPUs */
  fovea_parallel_for parallel_for; /* NULL (default): OpenMP where the library has it, else the calling thread */
  void *parallel_context;          /* handed to parallel_for; only with one */
  void *scratch;                   /* NULL (default): allocated and freed within the call. The bytes that are needed
                                      belong to nothing else that the run uses: no tensor, segment, state or plan */
  size_t scratch_size;             /* bytes at scratch, see fovea_plan_scratch_size(); 0 without scratch */
} fovea_execution;

/* All defaults. Callers in C use fovea_execution_init(). */
FOVEA_API void fovea_execution_init_sized(fovea_execution *execution, size_t struct_size);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_execution_init(fovea_execution *execution) {
  fovea_execution_init_sized(execution, sizeof *execution);
}

/* What the default thread count is: the CPUs this process may use (affinity, cgroup quota, OMP_NUM_THREADS), 1
 * where the library was built without OpenMP, and 1 in the child of a fork(), where GNU's OpenMP would wait for
 * ever for threads that the child does not have. The child is known by its process id, so the parent must have
 * called any function of Fovea that runs or plans something before the fork. */
FOVEA_API int fovea_default_threads(void);

/* Contiguous f32 tensors in the order of the shapes above, v_dim = qk_dim = dim, default scale; causal is 0 or 1,
 * aligned bottom-right. Runs with default threads. Allocates its scratch, once, and for more than 32 batch entries
 * the plan. */
FOVEA_API fovea_status fovea_attention(const float *q, const float *k, const float *v, float *o, int64_t batch,
                                       int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t dim,
                                       int causal);

/* Plans and runs one problem. `execution` and `error` may be NULL. */
FOVEA_API fovea_status fovea_attend(const fovea_problem *problem, const fovea_tensors *tensors,
                                    const fovea_execution *execution, fovea_error *error);

/* What a state comes to: writes O and LSE (unless NULL) from tensors->state. Of the problem these are used: batch,
 * heads, q_len, v_dim, cu_seqlens_q (only whether it is there: all q_len rows are written), o_type, o_strides,
 * lse_strides, the sink, and isa; its arrays need not be there any more. The sinks are those of tensors; a state
 * has none. With the state of all keys, cut at multiples of FOVEA_SPAN_KEYS, O and LSE have the bits of
 * fovea_attend(). On the calling thread, without allocating. `error` may be NULL. */
FOVEA_API fovea_status fovea_state_finish(const fovea_problem *problem, const fovea_tensors *tensors,
                                          fovea_error *error);

/* The other way: writes tensors->state from O and LSE over its range of keys as any library gives them, natural
 * logarithms, with the types and strides that the problem says. Rows whose LSE is -Inf have seen nothing, whatever
 * O says of them. Such a state is exact to the rounding of its numbers: LSE of 10 in f32 knows weights to 1e-6. */
FOVEA_API fovea_status fovea_state_from_output(const fovea_problem *problem, const fovea_tensors *tensors,
                                               fovea_error *error);

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* An immutable plan: the kernel, the tiles, the tasks. It may be shared by threads and run any number of times at
 * the same time, with different tensors and scratch. */
typedef struct fovea_plan fovea_plan;

/* Checks the problem and allocates a plan for it. On failure *plan is NULL. */
FOVEA_API fovea_status fovea_plan_create(const fovea_problem *problem, fovea_plan **plan, fovea_error *error);
FOVEA_API void fovea_plan_destroy(fovea_plan *plan); /* NULL is allowed */

/* Bytes of a plan with so many batch entries; 0 if batch is below 1, SIZE_MAX if a size_t has no room for it. */
FOVEA_API size_t fovea_plan_size(int64_t batch);

/* As fovea_plan_create(), without allocating: the plan lies in memory of the caller's, fovea_plan_size() bytes or
 * more at a multiple of FOVEA_SCRATCH_ALIGNMENT, and lives as long as that does. Memory for a batch holds a plan of
 * any smaller one: an engine that decodes makes each step's plan in the same place. Making a plan there ends the
 * one before. fovea_plan_destroy() leaves such a plan alone. On failure *plan is NULL, and a plan that was there is
 * gone. */
FOVEA_API fovea_status fovea_plan_create_in(const fovea_problem *problem, void *memory, size_t size,
                                            fovea_plan **plan, fovea_error *error);

/* Bytes that scratch has to be aligned to. */
#define FOVEA_SCRATCH_ALIGNMENT 64

/* Bytes of scratch for that many workers: they depend on the dimensions, the types and the logarithm of how many
 * keys a row can see: by window, chunks, keys_begin and keys_end, by kv_len, or with kv_begins by the longest entry
 * from its begin to its end; not by offsets, masks or other lengths of entries. So with the same rules scratch for
 * a problem's largest lengths covers every smaller one. A mask that does not begin at key 0 takes some more, as
 * much for any mask_begin but 0 and for mask_begins. 0 when workers is below 1. */
FOVEA_API size_t fovea_plan_scratch_size(const fovea_plan *plan, int workers);

/* Runs the whole plan. */
FOVEA_API fovea_status fovea_plan_run(const fovea_plan *plan, const fovea_tensors *tensors,
                                      const fovea_execution *execution, fovea_error *error);

/* A plan has phases, run one after the other; a phase has tasks, run in any order by any worker. */
FOVEA_API int fovea_plan_phases(const fovea_plan *plan);
FOVEA_API int64_t fovea_plan_tasks(const fovea_plan *plan, int phase); /* 0 for a phase that does not exist */

/* For engines that own their threads: a plan bound to the tensors and the scratch of one run. Everything is checked
 * when it is bound, once; a task then checks its own numbers and nothing else. All workers share one scratch of
 * fovea_plan_scratch_size(plan, workers) bytes, and no two calls that overlap in time share a worker number. The
 * barrier between phases is the engine's to make.
 *
 *   fovea_run_bind(plan, &tensors, workers, scratch, scratch_size, memory, fovea_run_size(plan), &run, &error);
 *   for phase in 0 .. fovea_plan_phases(plan) - 1
 *     for task in 0 .. fovea_plan_tasks(plan, phase) - 1, on any of the workers
 *       fovea_run_task(run, phase, task, worker, &error);
 */
typedef struct fovea_run fovea_run;

/* Bytes of a run; 0 for NULL. */
FOVEA_API size_t fovea_run_size(const fovea_plan *plan);

/* Makes a run in memory of the caller's, fovea_run_size() bytes or more at a multiple of FOVEA_SCRATCH_ALIGNMENT.
 * It holds nothing that has to be given back, lives as long as memory, plan, scratch and what the tensors name do,
 * and is not to be moved. The struct `tensors`, and that of a state, may go. On failure *run is NULL. Not for
 * several threads at once in the same memory. */
FOVEA_API fovea_status fovea_run_bind(const fovea_plan *plan, const fovea_tensors *tensors, int workers,
                                      void *scratch, size_t scratch_size, void *memory, size_t size,
                                      fovea_run **run, fovea_error *error);

/* One task, from any thread. */
FOVEA_API fovea_status fovea_run_task(const fovea_run *run, int phase, int64_t task, int worker,
                                      fovea_error *error);

/* How much of the score matrix is looked at, over all batch entries and query heads. */
typedef struct fovea_counts {
  int64_t pairs_seen;     /* (row, key) pairs that may be seen */
  int64_t pairs_computed; /* pairs whose score is computed, lanes of padding included */
} fovea_counts;

/* The counts of a run, exactly: a mask tensor is read, and segments in panels count as they are computed. In the
 * scratch of worker 0, so not while that runs a task; in the time of a pass over all blocks, and over every element
 * of a mask that hides some keys. */
FOVEA_API fovea_status fovea_run_counts(const fovea_run *run, fovea_counts *counts);

/* The counts of a plan, which knows no tensors: as its rules say, with keys in rows and without a mask, which takes
 * away more when the plan runs. The same as those of a run without a mask and without segments in panels. In the
 * time of a pass over all rows. */
FOVEA_API fovea_status fovea_plan_counts(const fovea_plan *plan, fovea_counts *counts);

/* The name of the instruction set that a plan runs on. */
FOVEA_API const char *fovea_plan_isa(const fovea_plan *plan);

/* ---- Rotary position embedding ------------------------------------------------------------------------------ */

/* RoPE of Su et al. (RoFormer, 2021): the first `dims` elements of a row are taken as pairs (x, y), and pair i of
 * the row at position p becomes (x cos a - y sin a, y cos a + x sin a)  with  a = p * base^(-2 i / dims). The
 * elements after these are not turned. Cosines and sines are those of the exact angle, rounded to f32, at every
 * position up to 2^40 in size; docs/numerics.md states the arithmetic. The bits are the same on every instruction
 * set. Calls may run at the same time as long as no two write the same rows. */

/* Which elements make pair i. */
typedef enum fovea_rotary_layout {
  FOVEA_ROTARY_INTERLEAVED = 0, /* 2 i and 2 i + 1: GPT-J, the checkpoints of Llama */
  FOVEA_ROTARY_HALVES = 1       /* i and i + dims / 2: GPT-NeoX, Hugging Face's Llama */
} fovea_rotary_layout;

/* The embedding. Prepare it with fovea_rotary_init(), then change what differs from the defaults. The arrays it
 * points to stay the caller's; they are read while a call runs. */
typedef struct fovea_rotary {
  size_t struct_size;         /* set by fovea_rotary_init() */
  fovea_rotary_layout layout; /* which elements make a pair */
  int64_t dims;               /* even, from 0 to the rows' dim; at most 2^20 */

  double base; /* finite, at least 1; default 10000, and that with frequencies or tables */

  /* In place of base: dims / 2 angles a position, in radians, each from -2^32 to 2^32. Scaled positions are scaled
   * frequencies; their negatives undo what they do. Default NULL. */
  const double *frequencies;

  /* In place of base and frequencies: both, or NULL (default) both. Row p, dims / 2 numbers from element
   * p * table_stride on, holds the cosines (sines) of position p, from 0 to table_rows - 1. */
  const float *cosines, *sines;
  int64_t table_rows, table_stride; /* default, and without tables, 0 rows; dims / 2 apart */

  const char *isa; /* as in fovea_problem */
} fovea_rotary;

/* Sets the layout and dims; the rest is as described. Callers in C use fovea_rotary_init(). */
FOVEA_API void fovea_rotary_init_sized(fovea_rotary *rotary, size_t struct_size, fovea_rotary_layout layout,
                                       int64_t dims);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_rotary_init(fovea_rotary *rotary, fovea_rotary_layout layout, int64_t dims) {
  fovea_rotary_init_sized(rotary, sizeof *rotary, layout, dims);
}

/* What one call turns: rows of (batch, heads, rows, dim), into other rows or in place. Prepare it with
 * fovea_rotation_init(). Sizes are at least 1, rows at least 0. */
typedef struct fovea_rotation {
  size_t struct_size; /* set by fovea_rotation_init() */
  int64_t batch, heads, rows, dim;
  const void *from; /* the element with all indices 0, as everywhere */
  void *to;         /* may not share memory with what is read, but be `from` itself, with its type and strides */
  fovea_strides from_strides, to_strides; /* default: contiguous in the order of the shape */
  fovea_type from_type, to_type;          /* default FOVEA_F32; results are rounded once more to 16 bits */

  /* Row i of entry b is at position first_position + i; or first_positions[b] + i (an array of `batch` int64); or
   * at positions[b * rows + i] (`batch` * `rows` int64). All from -2^40 to 2^40. Only one of the three is set;
   * default 0, and NULL both. */
  int64_t first_position;
  const int64_t *first_positions;
  const int64_t *positions;

  /* Packed batches: entry b is rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of one tensor (1, heads, rows, dim);
   * batch strides are then not used. An array of batch + 1 numbers that never decrease, from 0 to rows. Rows of
   * `positions` are then those of the tensor, `rows` numbers. Rows outside every entry are not written. Default
   * NULL. */
  const int32_t *cu_seqlens;
} fovea_rotation;

/* Sets these six; the rest is as described. Callers in C use fovea_rotation_init(). */
FOVEA_API void fovea_rotation_init_sized(fovea_rotation *rotation, size_t struct_size, int64_t batch, int64_t heads,
                                         int64_t rows, int64_t dim, const void *from, void *to);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_rotation_init(fovea_rotation *rotation, int64_t batch, int64_t heads, int64_t rows,
                                       int64_t dim, const void *from, void *to) {
  fovea_rotation_init_sized(rotation, sizeof *rotation, batch, heads, rows, dim, from, to);
}

/* Turns the rows, on the calling thread and without allocating. A row's angles are computed once for all heads. The
 * elements that are not turned are copied bit for bit, or converted as results are where the types differ. `error`
 * may be NULL. */
FOVEA_API fovea_status fovea_rotary_apply(const fovea_rotary *rotary, const fovea_rotation *rotation,
                                          fovea_error *error);

/* ---- Caches: new rows ---------------------------------------------------------------------------------------- */

/* New keys and values of (batch, kv_heads, rows, dim) tensors, on their way into caches. Row i of entry b goes to
 * position first_position + i, or first_positions[b] + i, of sequences[b]. Prepare it with fovea_new_rows_init().
 */
typedef struct fovea_new_rows {
  size_t struct_size;                           /* set by fovea_new_rows_init() */
  int64_t batch, kv_heads, rows, qk_dim, v_dim; /* at least 1; rows at least 0 */
  const void *k, *v;                            /* the elements with all indices 0 */
  fovea_strides k_strides, v_strides;           /* default: contiguous in the order of the shape */
  fovea_type k_type, v_type;                    /* default FOVEA_F32; the segments have types of their own */
  const fovea_sequence *sequences;              /* one per batch entry; only their memory is written to */
  int64_t first_position;                       /* 0 or more; default 0 */
  /* An array of `batch` int64, in place of first_position, which is 0 then. Default NULL. */
  const int64_t *first_positions;
  /* An array of `batch` int64, each 0..rows: how many rows an entry gets. Default NULL: all. */
  const int64_t *row_counts;
  const char *isa; /* as in fovea_problem; that of the rotary embedding is not used */

  /* Packed batches: the new rows of entry b are rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of one tensor (1,
   * kv_heads, rows, dim); batch strides are then not used, and row_counts is NULL. An array of batch + 1 numbers
   * that never decrease, from 0 to rows. Default NULL. */
  const int32_t *cu_seqlens;
  int64_t layer; /* of the segments that are written to, from 0. Default 0 */
} fovea_new_rows;

/* Sets these eight; the rest is as described. Callers in C use fovea_new_rows_init(). */
FOVEA_API void fovea_new_rows_init_sized(fovea_new_rows *rows, size_t struct_size, int64_t batch, int64_t kv_heads,
                                         int64_t row_count, int64_t qk_dim, int64_t v_dim, const void *k,
                                         const void *v, const fovea_sequence *sequences);

/* Tells the library the size of the struct that this program was compiled with. */
static inline void fovea_new_rows_init(fovea_new_rows *rows, int64_t batch, int64_t kv_heads, int64_t row_count,
                                       int64_t qk_dim, int64_t v_dim, const void *k, const void *v,
                                       const fovea_sequence *sequences) {
  fovea_new_rows_init_sized(rows, sizeof *rows, batch, kv_heads, row_count, qk_dim, v_dim, k, v, sequences);
}

/* Writes the rows into the segments that hold their positions, on the calling thread and without allocating.
 * Elements are copied bit for bit, or rounded once where types differ. With `rotary` (NULL: none) keys are turned
 * for their positions on the way, with that one rounding. In a panel the other keys keep their bits. Refused,
 * before anything is written: positions that no segment holds; rows of one call that would share memory with each
 * other, with the tensors or with tables of the embedding. Calls may run at the same time as long as none writes a
 * row that another one reads or writes. `error` may be NULL. */
FOVEA_API fovea_status fovea_append(const fovea_new_rows *rows, const fovea_rotary *rotary, fovea_error *error);

/* Copies the keys and values at positions begin to end - 1 of one sequence into the segments of another that hold
 * the same positions, whatever types and layouts both have; elements as fovea_append() does. Layers 0 to layers - 1
 * are copied, which every segment must have. It makes old rows narrower, and copies of pages. What it refuses is
 * the same; texts call `from` sequences[0] and `to` sequences[1]. */
FOVEA_API fovea_status fovea_sequence_copy(const fovea_sequence *from, const fovea_sequence *to, int64_t layers,
                                           int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin,
                                           int64_t end, fovea_error *error);

/* ---- Caches: kinds ------------------------------------------------------------------------------------------- */

/* Memory for keys and values in pages of equal size: pages of a block table, or one page for each sequence where it
 * is contiguous or a ring. Prepare it with fovea_pages_init(), then set k and v and change what differs. The
 * functions below make segments of it in the caller's array and allocate nothing; they read no key and no value.
 * Calls may run at the same time as long as no two write the same array. */
typedef struct fovea_pages {
  size_t struct_size;        /* set by fovea_pages_init() */
  int64_t count, page_rows;  /* at least 1: how many pages, and positions that each has room for */
  int64_t kv_heads;          /* at least 1 */
  int64_t qk_dim, v_dim;     /* at least 1 */
  void *k, *v;               /* page 0, kv head 0, its first row (panel) */
  fovea_type k_type, v_type; /* by default what the initialiser was told */
  fovea_key_layout k_layout; /* PANELS: page_rows is a multiple of FOVEA_PANEL_ROWS */
  /* `batch` is between pages, `row` of k with panels between panels. Default: contiguous (page, head, row, dim), so
   * that k takes count * k_strides.batch elements and v takes count * v_strides.batch.
   * fovea_strides_rows_before_heads(page_rows, kv_heads, dim) is (page, row, head, dim). */
  fovea_strides k_strides, v_strides;
  /* Layers of a model that share tables: a page has this many, `k_layer` (`v_layer`) elements apart. Default: 1
   * layer, and as many elements as all pages take, so that layers follow each other. With other strides of pages
   * these are set, too. */
  int64_t layers, k_layer, v_layer;
  size_t segment_size; /* bytes of each segment that is made of these pages: set by fovea_pages_init() */
} fovea_pages;

/* Sets sizes, types, layout and strides; k and v are NULL. Callers in C use fovea_pages_init(). */
FOVEA_API void fovea_pages_init_sized(fovea_pages *pages, size_t struct_size, size_t segment_size, int64_t count,
                                      int64_t page_rows, int64_t kv_heads, int64_t qk_dim, int64_t v_dim,
                                      fovea_type type, fovea_key_layout k_layout);

/* Tells the library the sizes of the struct and of the segments that this program was compiled with. */
static inline void fovea_pages_init(fovea_pages *pages, int64_t count, int64_t page_rows, int64_t kv_heads,
                                    int64_t qk_dim, int64_t v_dim, fovea_type type, fovea_key_layout k_layout) {
  fovea_pages_init_sized(pages, sizeof *pages, sizeof(fovea_segment), count, page_rows, kv_heads, qk_dim, v_dim,
                         type, k_layout);
}

/* Contiguous, with room to grow: one segment, positions 0 to page_rows - 1 in that page. */
FOVEA_API fovea_status fovea_cache_contiguous(const fovea_pages *pages, int64_t page, fovea_segment *segment,
                                              fovea_error *error);

/* Paged: positions i * page_rows to (i + 1) * page_rows - 1 lie in page table[i]. Makes segments of the pages that
 * hold positions begin to end - 1, whole pages, and looks at no other number of the table, which has table_length.
 * Pages that follow each other in memory become one segment. At most segment_limit segments are written to
 * `segments`, and that it is too small is an error which says how many are needed; one a page is always enough.
 * *sequence is set to what was made. On failure neither is written. */
FOVEA_API fovea_status fovea_cache_paged(const fovea_pages *pages, const int32_t *table, int64_t table_length,
                                         int64_t begin, int64_t end, fovea_segment *segments, int64_t segment_limit,
                                         fovea_sequence *sequence, fovea_error *error);

/* Paged, for all entries of a batch: entry b has row b of `tables`, table_length numbers, and positions begins[b]
 * (NULL: 0) to ends[b] - 1. As fovea_cache_paged(), one entry after the other into the same array; sequences[b] is
 * set to what was made of entry b. */
FOVEA_API fovea_status fovea_cache_paged_batch(const fovea_pages *pages, int64_t batch, const int32_t *tables,
                                               int64_t table_length, const int64_t *begins, const int64_t *ends,
                                               fovea_segment *segments, int64_t segment_limit,
                                               fovea_sequence *sequences, fovea_error *error);

/* Segments that a ring may have. */
#define FOVEA_RING_SEGMENTS 2

/* Ring: position p lies in row p % page_rows of that page, so that page_rows are the latest positions that it
 * holds. Makes up to FOVEA_RING_SEGMENTS segments for positions begin to end - 1, at most page_rows of them. A step
 * with `end` the length with R new rows and `begin` end - page_rows (or 0): append, then attend with kv_begins of
 * `begin`. For windows page_rows is at least window_left + R, where the new rows are attended to at once; for
 * chunks chunk_left + chunk_size + chunk_right + R - 1, where rows are as soon as all that they see is there. With
 * panels the first segment begins at a whole panel, whose positions before `begin` are not there any more. */
FOVEA_API fovea_status fovea_cache_ring(const fovea_pages *pages, int64_t page, int64_t begin, int64_t end,
                                        fovea_segment segments[FOVEA_RING_SEGMENTS], fovea_sequence *sequence,
                                        fovea_error *error);

/* Which pages are in use, and by how many: prefixes are shared by sequences whose tables name the same pages. Not
 * for use by several threads at once. */
typedef struct fovea_page_pool {
  int32_t *references; /* one a page, in the caller's memory; free pages are chained in it */
  int32_t count;       /* pages */
  int32_t free_count;  /* of them, not in use */
  int32_t first_free;  /* where the chain begins; `count` where there is none */
} fovea_page_pool;

/* All of `count` pages are free; `references` has room for as many numbers. FOVEA_ERROR_NULL or _SIZE else. */
FOVEA_API fovea_status fovea_page_pool_init(fovea_page_pool *pool, int32_t *references, int32_t count,
                                            fovea_error *error);

/* A free page, which then has one user. FOVEA_ERROR_MEMORY where there is none. */
FOVEA_API fovea_status fovea_page_take(fovea_page_pool *pool, int32_t *page, fovea_error *error);

/* One more user of a page; one less, the last of whom frees it. FOVEA_ERROR_SEGMENTS where it is not in use. */
FOVEA_API fovea_status fovea_page_share(fovea_page_pool *pool, int32_t page, fovea_error *error);
FOVEA_API fovea_status fovea_page_release(fovea_page_pool *pool, int32_t page, fovea_error *error);

/* 1 where a page has more than one user. */
FOVEA_API int fovea_page_is_shared(const fovea_page_pool *pool, int32_t page);

/* Copy on write, before rows are appended to a page that holds `rows` rows (0 to page_rows): a page with other
 * users is exchanged for a free one, with those rows copied, and *page becomes its number. A page with one user
 * stays.
 *
 * `pages` is all memory that the pool's numbers name: an array of `pages_count` (at least 1) structs, each with all
 * of its layers. Layers that have memory of their own each but one table are several structs; to leave one out
 * loses that layer's rows. */
FOVEA_API fovea_status fovea_page_own(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool,
                                      int32_t *page, int64_t rows, fovea_error *error);

/* Makes room for new_rows rows behind the `rows` rows that a sequence has: owns the page that the new rows begin
 * in, as fovea_page_own() does, and takes free pages for the rest, whose numbers it writes into the table. All
 * page_rows of `pages` are equal. On failure (FOVEA_ERROR_MEMORY if pages are too few) neither table nor pool has
 * changed. */
FOVEA_API fovea_status fovea_page_extend(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool,
                                         int32_t *table, int64_t table_length, int64_t rows, int64_t new_rows,
                                         fovea_error *error);

/* ---- What this machine gets --------------------------------------------------------------------------------- */

/* No version lists more instruction sets than this. */
#define FOVEA_ISA_LIMIT 16

/* One instruction set that this build has or could have. Fields are only ever added at the end. */
typedef struct fovea_isa_report {
  const char *name;   /* "avx512", "avx2", "neon", "scalar", ...; "avx2/rows": one table of a set with several */
  int usable;         /* a problem may ask for it by name */
  int chosen;         /* what problems without a name get */
  const char *reason; /* why it is chosen, or why not */
  fovea_type type; /* FOVEA_F32: for any problem; else it has faster products for Q and K of this type, and is taken
                      for these alone */
} fovea_isa_report;

/* What fovea_info() tells. Fields are only ever added at the end. */
typedef struct fovea_library_info {
  size_t struct_size;      /* set by the caller to sizeof(fovea_library_info) before the call */
  const char *version;     /* "0.1.0" */
  const char *cpu;         /* the CPU's own name, or its architecture */
  const char *isa;         /* the chosen instruction set */
  const char *threading;   /* "OpenMP" or "none" */
  int threads;             /* fovea_default_threads() */
  const char *environment; /* what FOVEA_ISA did, or that it was ignored and why; "" when it is not set */
  int isa_count;           /* reports that follow: sets, best first, and then tables of sets */
  const fovea_isa_report *const *isas; /* pointers to that many reports */
  size_t report_size; /* bytes that each report has: those of an earlier library lack the fields beyond */
} fovea_library_info;

/* Tells what was chosen, what was not, and why. Texts and reports live as long as the process. The environment
 * variable FOVEA_ISA=<name> caps the choice; it is read once, by the first call into the library that needs it. */
FOVEA_API fovea_status fovea_info(fovea_library_info *info);

/* "major.minor.patch" of the library that runs. */
FOVEA_API const char *fovea_version(void);

#ifdef __cplusplus
}
#endif

#endif
