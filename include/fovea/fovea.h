/* Fovea: attention kernels for CPUs, with one answer.
 *
 * O = softmax(scale * Q K^T) V over the keys that a row may see, computed tile by tile with the online softmax of
 * Milakov & Gimelshein (2018) and Dao et al. (FlashAttention, 2022). The same inputs give the same bits on every
 * instruction set, for any number of threads, any batch and any layout; docs/numerics.md states the arithmetic.
 *
 * There are three ways to compute, and all run the same code:
 *   fovea_attention(), fovea_attend()       one call, for contiguous tensors, or for any problem;
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

#include <fovea/features.h>

/* The version of this header. fovea_version() returns the version of the library. */
#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Describing a problem ----------------------------------------------------------------------------------- */

/* Replaces malloc() and free(). Set both functions, or neither. They are called by the thread that calls the
 * library, never by its workers. Threads that share a plan may call them at the same time. */
typedef struct fovea_allocator {
  void *context; /* passed to both */
  /* Returns `size` bytes at a multiple of `alignment`, a power of 2, or NULL. The library releases memory that is
   * not so aligned at once, and treats it as NULL. */
  void *(*allocate)(void *context, size_t size, size_t alignment);
  void (*release)(void *context, void *pointer); /* frees what allocate() returned, never NULL */
} fovea_allocator;

/* As `offset`: not set. The offset of each batch element is then its kv length minus its q length, so that the
 * last row's own key is the last key. */
#define FOVEA_OFFSET_BOTTOM_RIGHT INT64_MIN

/* Composed rules for which keys rows see: fovea/pattern.h. */
typedef struct fovea_pattern fovea_pattern;

/* One attention problem: sizes, strides and rules, without pointers to the tensors. Prepare it with
 * fovea_problem_init(), then change what differs from the defaults.
 *
 * Shapes: Q (batch, heads, q_len, qk_dim), K (batch, kv_heads, kv_len, qk_dim), V (batch, kv_heads, kv_len, v_dim),
 * O (batch, heads, q_len, v_dim), LSE (batch, heads, q_len). Query head h reads kv head h / (heads / kv_heads).
 *
 * Which keys row i of a batch element sees: the row's own key is key i + offset. The row sees a key if all these
 * rules allow it:
 *   lengths        keys from 0 to the sequence's kv length - 1;
 *   causal         no key after the own key;
 *   window         at most window_left keys before the own key, and window_right keys after it;
 *   chunks         the chunk of chunks.size positions that holds the own key, chunks.left keys before this chunk,
 *                  and chunks.right keys after it.
 * If no offset is set and a sequence has more rows than keys, its first rows would have no own key. If causal,
 * window, chunks, a position term, `shaw` or a pattern over positions then needs own keys, the problem is refused
 * (FOVEA_ERROR_ARGUMENT, whose field is "offset"): set q_lens if the sequence's last rows are padding, else offset
 * or offsets. An offset that is set may be negative.
 *
 * If a row sees no key, its output is zeros and its LSE is -Inf (with a sink: the sink). Keys and values that a
 * row does not see never change its output, whatever bytes they hold. */
typedef struct fovea_problem {
  size_t struct_size; /* set by fovea_problem_init() */

  int64_t batch, heads, kv_heads; /* at least 1 */
  int64_t q_len, kv_len;          /* at least 0; of packed batches: all rows, all keys of the tensors */
  int64_t qk_dim, v_dim;          /* at least 1 */

  fovea_type q_type, k_type, v_type, o_type;                /* default FOVEA_F32; any mix */
  fovea_strides q_strides, k_strides, v_strides, o_strides; /* default: FOVEA_CONTIGUOUS along each axis */
  fovea_strides lse_strides;                                /* default: FOVEA_CONTIGUOUS; LSE is f32 */

  double scale;    /* any finite number; default FOVEA_DEFAULT_NUMBER: 1/sqrt(qk_dim) */
  double softcap;  /* 0 (default): none; else a score is softcap * tanh(scale * q.k / softcap) */
  fovea_sink sink; /* default FOVEA_SINK_NONE */

  int causal;                        /* 0 (default) or 1 */
  int64_t window_left, window_right; /* 0 or more; FOVEA_UNLIMITED (default) */
  int64_t offset; /* default FOVEA_OFFSET_BOTTOM_RIGHT: not set; 0 is top-left; may be negative */

  /* One number for each batch element; NULL (default): not used. Making a plan copies these arrays. */
  const int64_t *offsets; /* `batch` int64 in place of `offset`, which must keep its default */
  const int64_t *q_lens;  /* `batch` int64, each from 0 to q_len; rows after it see no key */
  const int64_t *kv_lens; /* `batch` int64, each from 0 to kv_len; keys after it are not visible. In a batch of
                             padded rows q_lens goes with it */
  /* `batch` int64, each from 0 to the sequence's kv length: positions before it are not visible. They are old ones
   * of a cache, or padding in front of a sequence (left padding). Segments need not hold them, and tensors may hold
   * anything there. */
  const int64_t *kv_begins;

  /* Packed batches of different lengths: sequence b owns rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1 of Q, O
   * and LSE, and keys cu_seqlens_kv[b] to cu_seqlens_kv[b + 1] - 1. Each array has `batch` + 1 int32 that never
   * decrease; the first is at least 0, the last at most q_len (kv_len). Batch strides are then not used. Rows that
   * belong to no sequence are not written. One array may be set without the other. cu_seqlens_q excludes q_lens,
   * and cu_seqlens_kv excludes kv_lens. */
  const int32_t *cu_seqlens_q;
  const int32_t *cu_seqlens_kv;

  fovea_problem_cache cache; /* keys and values in segments; default: contiguous tensors k and v */

  /* One more rule: only keys at positions keys.begin to keys.end - 1 are visible. No other key is read, and
   * segments need not hold any other. Default: 0 to kv_len, which are the limits. */
  fovea_range keys;
  int state; /* 1: the result is a state over these keys, tensors.state, and not O and LSE. Default 0 */

  fovea_problem_chunks chunks; /* truncated attention; default: none */
  fovea_problem_mask mask;     /* default: none */

  /* One more rule, of fovea/pattern.h: a row sees a key if the pattern allows it, too. `patterns` has one for each
   * batch element (`batch` pointers, which making a plan copies; NULL: none); `pattern` must then be NULL. Every
   * row that may see keys, and every key of the sequence, lies in the range of its pattern. Patterns outlive plans
   * that use them. */
  const fovea_pattern *pattern; /* default NULL */
  const fovea_pattern *const *patterns;

  fovea_problem_activation activation; /* of q.k; default: none */
  fovea_scales scales;                 /* default FOVEA_SCALES_NONE. PER_HEAD and BOTH: `scale` keeps its default */
  fovea_problem_terms terms;           /* ALiBi, T5 and others, of positions; default: none */
  fovea_problem_shaw shaw;             /* relative position representations; default: none */
  fovea_problem_normaliser normaliser; /* default: the softmax */

  fovea_problem_scores scores; /* weights or scores as an output; default: none */
  /* 1: a run also writes tensors.max_logits: for each batch element and query head the largest score that one of
   * its rows sees, as the softmax takes it (after softcap and additive mask) and without the sink, in natural
   * units. Without softcap and additive mask that is the largest scale * q.k, which QK-Clip needs. -Inf if no row
   * sees a key, NaN if a row is NaN (docs/numerics.md, step 9). Costs a pass over q_len numbers a head. Not if the
   * result is a state. Default 0. */
  int max_logits;
  fovea_problem_top top; /* the keys with the largest scores of each row; default: none */
  /* 1: a run also writes tensors.entropy, f32 of shape (batch, heads, q_len) with the strides of LSE: the entropy
   * of each row's weights, the sum of -p ln p, with the sink as one more key; 0 if a row sees no key
   * (docs/numerics.md, step 11). Takes the exponentials once more. Not if the result is a state. Default 0. */
  int entropy;
  fovea_problem_column_sums column_sums; /* the sum of weights of each key; default: none */

  fovea_problem_modes modes;       /* the arithmetic of both halves; default: exact */
  fovea_problem_channels channels; /* numbers for each channel in int8 mode; default: none */
} fovea_problem;

/* Fills the first struct_size bytes: the sizes given, FOVEA_CONTIGUOUS as all strides, no rules. Callers in C
 * use fovea_problem_init(). This function checks nothing and cannot fail. */
FOVEA_API void fovea_problem_init_sized(fovea_problem *problem, size_t struct_size, int64_t batch, int64_t heads,
                                        int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t qk_dim,
                                        int64_t v_dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_problem_init(fovea_problem *problem, int64_t batch, int64_t heads, int64_t kv_heads,
                                      int64_t q_len, int64_t kv_len, int64_t qk_dim, int64_t v_dim) {
  fovea_problem_init_sized(problem, sizeof *problem, batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim);
}

/* Replaces FOVEA_CONTIGUOUS and FOVEA_DEFAULT_NUMBER by the strides and the scale of the sizes that the problem
 * has now, for callers that read strides or scale. Sizes that are changed later do not change them. Error:
 * FOVEA_ERROR_ARGUMENT. `error` may be NULL. */
FOVEA_API fovea_status fovea_problem_resolve(fovea_problem *problem, fovea_error *error);

/* Returns the strides of contiguous (batch, rows, heads, dim) tensors, the layout that projections produce. */
FOVEA_API fovea_strides fovea_strides_rows_before_heads(int64_t rows, int64_t heads, int64_t dim);

/* ---- Running it --------------------------------------------------------------------------------------------- */

/* The state of rows over some of the keys: fovea/state.h. */
typedef struct fovea_state fovea_state;

/* The tensors of one run. Each pointer names the element with all indices 0, even if that element is not used. A
 * run uses the rows of sequences. Of K and V, it uses for each sequence the keys from the first to the last that
 * one of its rows sees by the rules. Of a mask, it uses for all rows of such a sequence (with q_lens, the first
 * q_lens[b]) the elements of these keys, and of earlier keys back to a multiple of 128. No other element must
 * exist: q, k, v and mask may be NULL if nothing of them is used. Inputs may overlap each other. Outputs (O, LSE
 * and the others that are wanted, or the state) may not share a byte with used elements of the inputs, nor with
 * each other; rows of one output may lie between rows of another. (fovea_state_finish() and
 * fovea_state_from_output() compare the ranges from the first to the last element of each tensor.) Pointers that
 * the problem does not use must be NULL. */
typedef struct fovea_tensors {
  size_t struct_size; /* set by fovea_tensors_init() */
  const void *q;      /* (batch, heads, q_len, qk_dim) */
  const void *k;      /* (batch, kv_heads, kv_len, qk_dim); NULL with a segmented cache */
  const void *v;      /* (batch, kv_heads, kv_len, v_dim); NULL with a segmented cache */
  void *o;            /* (batch, heads, q_len, v_dim); NULL if the result is a state */
  float *lse; /* NULL: not wanted; only the softmax has it. The natural logarithm of the sum of exp(score) over the
                 visible keys and the sink */
  const float *sink; /* `heads` numbers; needed with FOVEA_SINK_PER_HEAD, else NULL. NULL also if the result is a
                        state, which has no sink: fovea_state_finish() takes it */

  fovea_tensors_cache cache; /* with a segmented cache, in place of k and v */

  /* Needed if the result is a state, else NULL. It has the problem's sizes and keys, and o and lse are then NULL.
   * fovea_state_finish() and fovea_state_from_output() use all three. */
  const fovea_state *state;

  const void *mask; /* needed with a mask type, else NULL */

  const double *head_scales; /* `heads` numbers; needed with FOVEA_SCALES_PER_HEAD and BOTH, else NULL */
  /* (batch, q_len) numbers, one for each row of a head of O: with cu_seqlens_q `q_len` numbers; needed with
   * FOVEA_SCALES_PER_ROW and BOTH, else NULL. Products of two scales must be finite, as `scale` must be. */
  const double *row_scales;

  /* terms.count pointers to the numbers of position terms, each to the number of batch element 0, query head 0 and
   * the first place; needed with terms, else NULL. All numbers must exist. A run reads this array until it
   * ends. */
  const float *const *terms;
  fovea_tensors_shaw shaw; /* tables of vectors; needed with shaw, else NULL */

  float *scores;     /* needed if the problem's scores have a kind, else NULL */
  float *max_logits; /* f32 (batch, heads), contiguous, also of packed batches; needed with max_logits, else NULL */
  fovea_tensors_top top; /* needed with top.k, else NULL */
  float *entropy;        /* needed with entropy, else NULL */
  /* f32 (batch, heads, keys), contiguous, also of packed batches, with as many keys as a row of scores has; needed
   * with column_sums, else NULL. */
  float *column_sums;

  fovea_tensors_channels channels; /* needed with channels, else NULL */
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
 * different workers. Fovea calls it on the thread of the call, never within a task. docs/threads.md says how it
 * costs little beside a busy process; examples/pthreadpool has one. */
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
 * a run takes threads, parallel_for and scratch. A run of a plan takes the allocator for scratch, and its isa is
 * NULL or the isa of the plan. Calls that allocate nothing do not call the allocator, and calls that only copy
 * (fovea_sequence_copy()) or run tasks (fovea_tasks_run()) look up no isa. */

/* Row-wise calls (fovea_append(), fovea_sequence_copy(), fovea_sequence_move(), fovea_rotary_apply() and the calls
 * that merge, finish and make states) take threads, parallel_for and isa from the execution, allocate nothing, and
 * refuse scratch. Rows are shared out only if there is work for more than one thread. A caller with threads of its
 * own may make one call for each part of the heads, rows or batch elements, at the same time. `execution` and
 * `error` may be NULL. */

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

/* Returns how many workers a caller's own tasks are worth: 1 if `work`, the multiply-adds of all
 * tasks, is too little to share, else as many as `execution` allows (NULL: all defaults), and no more than
 * `tasks`. 1 for an execution that fovea_tasks_run() refuses. */
FOVEA_API int fovea_tasks_workers(int64_t tasks, double work, const fovea_execution *execution);

/* Runs a caller's own tasks on `workers` workers or fewer, as attention runs its tasks: on OpenMP's threads or by
 * execution->parallel_for. Calls run(data, task, worker) once for each task from 0 to tasks - 1, in any order and
 * at the same time. `worker` is from 0 to workers - 1, and calls at the same time have different workers. Returns
 * when all tasks are done. Allocates nothing, and uses no scratch. `execution` and `error` may be NULL.
 * FOVEA_ERROR_ARGUMENT if run is NULL, tasks is below 0 or workers below 1; and the errors of an execution that
 * any call refuses. Thread-safe. */
FOVEA_API fovea_status fovea_tasks_run(void (*run)(const void *data, int64_t task, int worker), const void *data,
                                       int64_t tasks, int workers, const fovea_execution *execution,
                                       fovea_error *error);

/* What fovea_team_run() calls. */
typedef void (*fovea_team_function)(void *data, const fovea_execution *execution);

/* Calls run(data, execution) once, on the calling thread, with one team of threads for all calls that `run` makes
 * with the execution that it gets: `execution` with a parallel_for that shares their tasks among the team. Between
 * calls the team's threads wait for microseconds, then sleep; a thread that the system does not run delays the task
 * that it has, and no other. Stacks of layers in fovea_nn run so by themselves; a model of single calls gains what
 * beginning and ending a team costs for each of them. `work`: the multiply-adds of all calls; if they are too few
 * to share, if `execution` has a parallel_for, or without OpenMP, `run` gets `execution` as it is, completed. Calls
 * with that execution are made from the calling thread only. `execution` and `error` may be NULL.
 * FOVEA_ERROR_ARGUMENT if run is NULL; and the errors of an execution that any call refuses. Allocates nothing.
 * Thread-safe. */
FOVEA_API fovea_status fovea_team_run(fovea_team_function run, void *data, double work,
                                      const fovea_execution *execution, fovea_error *error);

/* Plans and runs a problem of contiguous f32 tensors in the order of the shapes above, with v_dim = qk_dim = dim
 * and the default scale. `causal` is 0 or 1, aligned bottom-right; then q_len is at most kv_len
 * (FOVEA_ERROR_ARGUMENT), and fovea_attend() takes other offsets. Runs with default threads. Allocates its scratch
 * once, and a plan if batch is more than 32. */
FOVEA_API fovea_status fovea_attention(const float *q, const float *k, const float *v, float *o, int64_t batch,
                                       int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t dim,
                                       int causal);

/* Plans and runs one problem. `execution` and `error` may be NULL. */
FOVEA_API fovea_status fovea_attend(const fovea_problem *problem, const fovea_tensors *tensors,
                                    const fovea_execution *execution, fovea_error *error);

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* An immutable plan: the kernels, the tiles, the tasks. Threads may share it, and run it any number of times at the
 * same time, with different tensors and scratch. */
typedef struct fovea_plan fovea_plan;

/* Checks the problem and allocates a plan for it, with the isa and the allocator of `execution` (NULL: all
 * defaults). The name of the isa need not exist any more when the plan runs. On failure *plan is NULL. Errors:
 * FOVEA_ERROR_ARGUMENT and FOVEA_ERROR_UNUSED of problem and execution, FOVEA_ERROR_UNSUPPORTED of the isa or of
 * what the build was made without, FOVEA_ERROR_MEMORY. */
FOVEA_API fovea_status fovea_plan_create(const fovea_problem *problem, const fovea_execution *execution,
                                         fovea_plan **plan, fovea_error *error);
FOVEA_API void fovea_plan_destroy(fovea_plan *plan); /* frees a plan, which no run may still use; NULL is allowed */

/* Returns the bytes of a plan for `batch` sequences; 0 if batch is below 1, SIZE_MAX if a size_t cannot hold
 * them. */
FOVEA_API size_t fovea_plan_size(int64_t batch);

/* Like fovea_plan_create(), but allocates nothing: the plan lies in memory of the caller, fovea_plan_size() bytes
 * or more at a multiple of FOVEA_SCRATCH_ALIGNMENT, and lives as long as this memory. Memory for one batch also
 * holds plans of smaller batches, so an engine that decodes can make the plan of each step in the same place. A new
 * plan ends the one before in this memory. fovea_plan_destroy() does nothing to such a plan. On failure *plan is
 * NULL, and a plan that was in this memory is lost. Errors: as fovea_plan_create(), but FOVEA_ERROR_SPACE in place
 * of FOVEA_ERROR_MEMORY. */
FOVEA_API fovea_status fovea_plan_create_in(const fovea_problem *problem, const fovea_execution *execution,
                                            void *memory, size_t size, fovea_plan **plan, fovea_error *error);

/* The alignment of scratch, in bytes. */
#define FOVEA_SCRATCH_ALIGNMENT 64

/* Bytes of stack. Every call of this library and of fovea_nn uses less, on the calling thread and on each worker's,
 * if the library is compiled with optimisation. Frames that signals push are not the library's; callbacks and
 * allocators of the caller's come on top. */
#define FOVEA_STACK_SIZE 65536

/* Returns the bytes of scratch for `workers` workers; 0 if plan is NULL or workers is below 1, SIZE_MAX if a size_t
 * cannot hold them. They depend on the dimensions, the
 * types, the modes and whether AMX was allowed when the plan was made, the batch, the number of position terms,
 * the CPUs of this process (if keys may be split between them) and the logarithm of how many keys a row can see.
 * This number follows from window, chunks, keys.begin and keys.end, and from kv_len, or with kv_begins from the
 * longest sequence from its begin to its end; offsets, masks and other lengths of sequences do not matter. So with
 * the same batch and the same rules, scratch for the largest lengths is enough for all smaller ones. A mask that
 * does not begin at key 0 needs some more: the same for every mask.begin but 0, and for mask.begins. */
FOVEA_API size_t fovea_plan_scratch_size(const fovea_plan *plan, int workers);

/* Runs the whole plan. `execution` and `error` may be NULL. If isa is not NULL, it names the table of kernels that
 * the plan was made for (else FOVEA_ERROR_UNUSED). */
FOVEA_API fovea_status fovea_plan_run(const fovea_plan *plan, const fovea_tensors *tensors,
                                      const fovea_execution *execution, fovea_error *error);

/* How many phases a plan has, and how many tasks a phase has. Phases run one after the other; the tasks of a phase
 * run in any order, on any worker. Both are 0 if plan is NULL, and a phase that does not exist has no tasks. */
FOVEA_API int fovea_plan_phases(const fovea_plan *plan);
FOVEA_API int64_t fovea_plan_tasks(const fovea_plan *plan, int phase);

/* For engines with threads of their own: a plan bound to the tensors and the scratch of one run. Binding checks
 * everything, once; a task then checks only its phase, task and worker. All workers share one scratch of
 * fovea_plan_scratch_size(plan, workers) bytes. Calls that run at the same time have different workers. The engine
 * waits at the end of each phase until all its tasks are done.
 *
 *   fovea_run_bind(plan, &tensors, workers, scratch, scratch_size, memory, fovea_run_size(plan), &run, &error);
 *   for phase in 0 .. fovea_plan_phases(plan) - 1
 *     for task in 0 .. fovea_plan_tasks(plan, phase) - 1, on any of the workers
 *       fovea_run_task(run, phase, task, worker, &error); */
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

/* How much of the score matrix is visible and computed, over all batch elements and query heads. */
typedef struct fovea_counts {
  int64_t pairs_visible; /* (row, key) pairs where the key is visible to the row */
  /* Pairs whose score is computed, padding of rows and keys included; twice with a score output other than weights. */
  int64_t pairs_computed;
} fovea_counts;

/* Counts the pairs of a run exactly: it reads the mask tensor, and counts panels and small pages as they are
 * computed. It uses the scratch of worker 0, so do not call it while worker 0 runs a task. It takes a pass over
 * all blocks and over the mask; if the mask hides keys or adds to scores, it reads the mask a second time. Keys
 * that only position terms hide count as visible. FOVEA_ERROR_ARGUMENT if the run is not bound, or a pointer is
 * NULL. */
FOVEA_API fovea_status fovea_run_counts(const fovea_run *run, fovea_counts *counts);

/* Counts the pairs of a plan by its rules, as if keys were in rows and there were no mask, no pattern and no
 * holes: a plan knows no tensors. A run without a mask, a pattern, holes, panels and small pages has the same
 * counts. It takes a pass over all rows. FOVEA_ERROR_ARGUMENT if a pointer is NULL. */
FOVEA_API fovea_status fovea_plan_counts(const fovea_plan *plan, fovea_counts *counts);

/* Returns the name of the instruction set that a plan runs on; "" if plan is NULL. It lives as long as the
 * process. */
FOVEA_API const char *fovea_plan_isa(const fovea_plan *plan);

/* ---- What this machine gets --------------------------------------------------------------------------------- */

/* One instruction set that this build has or could have. Prepare it with fovea_isa_report_init(). */
typedef struct fovea_isa_report {
  size_t struct_size; /* set by fovea_isa_report_init() */
  const char *name;   /* of a set, "avx512"; of a table, if the set has several, "avx512/vnni" */
  const char *base;   /* the set whose operations it has beside its own: of a table its set, of
                         "avx512_bf16" "avx512". Else its own name */
  int usable;         /* 1: an execution may name it */
  int chosen;         /* 1: the set that is taken if an execution names none; 0 for tables of a set */
  int meant;          /* 1: the table of a set that the set's name means here, so that both names are one */
  fovea_type type;    /* FOVEA_F32: may be chosen for any problem. Else it has faster products for Q and K of this
                         type, and for bf16 mode if `type` is bf16, and is chosen only for them. An execution that
                         names it may run any problem */
  const char *reason; /* why it is chosen or not */
} fovea_isa_report;

/* Sets all other fields to NULL and 0. Callers in C use fovea_isa_report_init(). */
FOVEA_API void fovea_isa_report_init_sized(fovea_isa_report *report, size_t struct_size);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_isa_report_init(fovea_isa_report *report) {
  fovea_isa_report_init_sized(report, sizeof *report);
}

/* Reports on instruction set `index`, from 0 on: sets, best first, then tables of sets. Texts live as long as the
 * process. FOVEA_ERROR_ARGUMENT if there are no more sets, or the report was not initialised. Thread-safe. */
FOVEA_API fovea_status fovea_isa_at(int index, fovea_isa_report *report);

/* Reports on the set that a problem in exact mode runs on, and that fovea_plan_isa() names, if the execution's isa
 * is `isa` (NULL: it names none) and the type of Q and K is `type` (FOVEA_F32: also if their types differ).
 * `error` may be NULL. FOVEA_ERROR_ARGUMENT if no instruction set has that name; FOVEA_ERROR_UNSUPPORTED if this
 * build or this CPU does not have it. Thread-safe. */
FOVEA_API fovea_status fovea_isa_find(const char *isa, fovea_type type, fovea_isa_report *report,
                                      fovea_error *error);

/* A group of kernels and of code around them, which a build may leave out. */
typedef struct fovea_group_report {
  const char *name;    /* "formats", "lists", ... */
  const char *what;    /* what calls cannot have without it, in words */
  const char *without; /* the switch that leaves it out: "FOVEA_WITHOUT_FORMATS", ... */
  int built;           /* 1: this build has it; 0: calls that need it fail with FOVEA_ERROR_UNSUPPORTED */
} fovea_group_report;

/* What fovea_info() sets. Prepare it with fovea_library_info_init(). */
typedef struct fovea_library_info {
  size_t struct_size;               /* set by fovea_library_info_init() */
  const char *version;              /* "0.1.0" */
  const char *cpu;                  /* the CPU's own name, or its architecture */
  const char *isa;                  /* the chosen instruction set; fovea_isa_at() says why */
  const char *threading;            /* "OpenMP" or "none" */
  int threads;                      /* fovea_default_threads() */
  const char *environment;          /* what FOVEA_ISA did, or why it was ignored; "" if it is not set */
  int group_count;                  /* groups of this version */
  const fovea_group_report *groups; /* group_count reports */
} fovea_library_info;

/* Sets all other fields to NULL and 0. Callers in C use fovea_library_info_init(). */
FOVEA_API void fovea_library_info_init_sized(fovea_library_info *info, size_t struct_size);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_library_info_init(fovea_library_info *info) {
  fovea_library_info_init_sized(info, sizeof *info);
}

/* Reports on the library and the machine. Texts live as long as the process. The environment variable
 * FOVEA_ISA=<name> caps the choice of instruction sets; the first call that needs it reads it once.
 * FOVEA_ERROR_ARGUMENT if `info` was not initialised. Thread-safe. */
FOVEA_API fovea_status fovea_info(fovea_library_info *info);

/* Lets plans that are made from now on, by any thread, use AMX for what is in bf16 or int8, if they name no isa and
 * the environment variable FOVEA_ISA is not set. No result changes, and nothing undoes it. On Linux this asks the
 * system, for the whole process: a signal that interrupts work with AMX then has a frame that is 8 KB larger, and
 * alternate signal stacks must have room for that. If the stack of a thread is too small, the call fails. `error`
 * may be NULL. Error: FOVEA_ERROR_UNSUPPORTED (there is no AMX, or it is not permitted). Thread-safe. */
FOVEA_API fovea_status fovea_allow_amx(fovea_error *error);

/* Returns 1 if what is in this mode and names no isa uses AMX: fovea_allow_amx() allowed it, and the environment
 * variable FOVEA_ISA is not set. Thread-safe. */
FOVEA_API int fovea_uses_amx(fovea_mode mode);

/* Returns "major.minor.patch" of the library that runs. */
FOVEA_API const char *fovea_version(void);

#ifdef __cplusplus
}
#endif

#endif
