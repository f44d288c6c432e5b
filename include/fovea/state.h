/* States: attention over some of the keys, to be merged with attention over other keys. docs/states.md
 * explains. */
#ifndef FOVEA_STATE_H
#define FOVEA_STATE_H

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of keys in a span. If ranges are cut at multiples of it, their merged states have the bits of one run
 * over all keys. */
#define FOVEA_SPAN_KEYS 2048

/* The state of each row over the keys at positions keys.begin to keys.end - 1, in memory of the caller. A state may
 * be copied, stored or sent to another machine: it does not depend on the instruction set.
 *
 * A row has fovea_state_numbers() floats: a row state of dim + 2 floats for each node of the range, in ascending
 * order. (Span i is keys i * FOVEA_SPAN_KEYS to (i + 1) * FOVEA_SPAN_KEYS - 1. Node (k, i) is spans i * 2^k to (i
 * + 1) * 2^k - 1. A range has the fewest nodes that hold it; see docs/states.md.) Let s be the score of a key in
 * units of log2. A row state is the sum of 2^(s - m) * V over the keys of the node that the row sees; then m, the
 * largest s (with modes.value FOVEA_MODE_INT8 another number); then the sum of 2^(s - m). States of different
 * modes merge. If the row sees no key of the node, m is -Inf and the rest is 0. With a normaliser other than the
 * softmax, a row state is the sum of weight * V; then 0; then the sum of weights. A state does not say which
 * normaliser it has: merge and finish only states of the same normaliser. */
struct fovea_state {
  size_t struct_size;              /* set by fovea_state_init() */
  int64_t batch, heads, rows, dim; /* of the outputs; with cu_seqlens_q batch is 1 */
  fovea_range keys;                /* positions: 0 <= keys.begin <= keys.end */
  float *numbers;                  /* the first float of the row with all indices 0 */
  fovea_strides strides;           /* in floats; default: FOVEA_CONTIGUOUS, (batch, heads, rows) */
};

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

/* Merges the states of two ranges of keys; `right` begins where `left` ends. `merged` has the sizes of both,
 * keys.begin of `left`, keys.end of `right`, and memory of its own. If the ranges are cut at a multiple of
 * FOVEA_SPAN_KEYS, it gets the bits of the state that one run over all these keys writes; if not, the two differ by
 * rounding. Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_state_merge(const fovea_state *left, const fovea_state *right,
                                         const fovea_state *merged, const fovea_execution *execution,
                                         fovea_error *error);

/* Finishes a state: writes O and LSE (unless NULL) from tensors->state. It uses these fields of the problem:
 * batch, heads, q_len, v_dim, cu_seqlens_q (only whether it is NULL: all q_len rows are written), o_type,
 * o_strides, lse_strides, sink and normaliser. The problem's arrays need not exist any more. The sinks are
 * tensors->sink; a state has none. If the state is of all keys, cut at multiples of FOVEA_SPAN_KEYS, O and LSE
 * have the bits of fovea_attend(). Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_state_finish(const fovea_problem *problem, const fovea_tensors *tensors,
                                          const fovea_execution *execution, fovea_error *error);

/* The reverse: writes tensors->state from O and LSE (natural logarithms) over its range of keys, which may come
 * from any library, with the problem's types and strides. A row whose LSE is -Inf saw no key, whatever its O is.
 * So did a row whose LSE is +Inf, which FlashAttention-2 writes for rows without keys (Fovea never does). The
 * state has no sink: O and LSE were computed without one, and tensors->sink is NULL. It is as exact as O and LSE:
 * an LSE of 10 in f32 gives weights to 1e-6. Only for the softmax, since other normalisers have no LSE. Runs as
 * row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_state_from_output(const fovea_problem *problem, const fovea_tensors *tensors,
                                               const fovea_execution *execution, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
