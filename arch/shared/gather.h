/* Rows that see few keys here and there: the states of one row over the blocks of keys that a list names, with dims
 * in the lanes. The arithmetic is that of state.h and of decode_softmax.h. Part of bodies.h. */

#include "../kernels.h"
#include "state.h"
#include "types.h"

/* The numbers of one block's keys. */
typedef struct gather_run {
  int begin, end; /* keys of the call */
  int64_t span;
  float maximum;
} gather_run;

/* Cuts the keys into blocks that have a state, and sets what weights are powers of 2 of. Returns how many. */
FOVEA_INLINE int gather_blocks(const fovea_gather_args *args, gather_run *runs, float *shifted) {
  int count = 0;
  for (int begin = 0, end; begin < args->key_count; begin = end) {
    const int32_t block = args->keys[begin] / FOVEA_BLOCK_KEYS;
    float maximum = -INFINITY;
    int is_nan = 0;
    for (end = begin; end < args->key_count && args->keys[end] / FOVEA_BLOCK_KEYS == block; end++) {
      const float score = args->scores[end];
      maximum = score > maximum ? score : maximum;
      is_nan |= score != score;
    }
    const float reference = maximum == -INFINITY ? 0.0f : maximum;
    for (int key = begin; key < end; key++) shifted[key] = args->scores[key] - reference;
    if (maximum == -INFINITY && !is_nan) continue;
    runs[count++] = (gather_run){begin, end, block / FOVEA_SPAN_BLOCKS, maximum + 0.0f}; /* -0 becomes +0 */
  }
  return count;
}

/* The sum of a block's weights. A sum of one or two numbers is the same in any order. */
FOVEA_INLINE float gather_sum(const gather_run *run, const int32_t *keys, const float *weights) {
  float sums[FOVEA_WEIGHT_SUMS] = {0};
  if (run->end - run->begin == 1) return weights[run->begin];
  if (run->end - run->begin == 2) return weights[run->begin] + weights[run->begin + 1];
  for (int key = run->begin; key < run->end; key++) sums[keys[key] % FOVEA_WEIGHT_SUMS] += weights[key];
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  }
  return sums[0];
}

/* Merges the last state into the one before it. */
FOVEA_INLINE void gather_merge(fovea_gather_stack *stack, int64_t dim) {
  const int right = --stack->depth, left = right - 1;
  float *to = stack->outputs[left];
  const float *from = stack->outputs[right];
  const state_parts parts = state_merge(vec_set1(stack->maxima[left]), vec_set1(stack->maxima[right]));
  const vec sum = state_join(vec_set1(stack->sums[left]), parts.left, vec_set1(stack->sums[right]), parts.right);
  vec_store_first(&stack->maxima[left], parts.maximum, 1);
  vec_store_first(&stack->sums[left], sum, 1);
  stack->spans[left] = stack->spans[right];
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d += LANES) {
    vec_store(to + d, state_join(vec_load(to + d), parts.left, vec_load(from + d), parts.right));
  }
}

/* How high the tree is in which two spans first have a common node. */
FOVEA_INLINE int gather_height(int64_t a, int64_t b) {
  int height = 0;
  for (int64_t differ = a ^ b; differ; differ >>= 1) height++;
  return height;
}

/* Merges the nodes that end before `span`. */
FOVEA_INLINE void gather_rise(fovea_gather_stack *stack, int64_t span, int64_t dim) {
  const int height = stack->depth > 0 ? gather_height(stack->spans[stack->depth - 1], span) : 0;
  while (stack->depth > 1 && stack->heights[stack->depth - 1] < height) gather_merge(stack, dim);
  stack->heights[stack->depth] = height;
}

/* Weights times values of one block, as a state of its own. */
FOVEA_INLINE void gather_push(const fovea_gather_args *args, const gather_run *run, const float *weights,
                              const fovea_type type) {
  fovea_gather_stack *stack = args->stack;
  const int64_t whole = args->dim / LANES * LANES;
  float *output = stack->outputs[stack->depth];
  stack->maxima[stack->depth] = run->maximum;
  stack->sums[stack->depth] = gather_sum(run, args->keys, weights);
  stack->spans[stack->depth++] = run->span;
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    vec sum = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = run->begin; key < run->end; key++) {
      const vec value = d < whole ? typed_load(args->values[key], d, type)
                                  : typed_load_first(args->values[key], d, (int)(args->dim - whole), type);
      sum = vec_fma(vec_set1(weights[key]), value, sum);
    }
    vec_store(output + d, sum);
  }
}

/* The keys of one call are whole blocks, and so are those of the calls before it. */
FOVEA_INLINE void gather_keys(const fovea_gather_args *args, const fovea_type type) {
  gather_run runs[FOVEA_BLOCK_KEYS];
  float weights[FOVEA_BLOCK_KEYS + LANES];
  fovea_gather_stack *stack = args->stack;
  const int count = gather_blocks(args, runs, weights);
  for (int i = 0; i < LANES; i++) weights[args->key_count + i] = 0.0f;
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += LANES)
    vec_store(weights + key, vec_exp2(vec_load(weights + key)));
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i++) {
    const int same = stack->depth > 0 && stack->spans[stack->depth - 1] == runs[i].span;
    if (!same) gather_rise(stack, runs[i].span, args->dim);
    gather_push(args, &runs[i], weights, type);
    if (same) gather_merge(stack, args->dim);
  }
}

#define GATHER_CASE(with, type, name, ...)                                                                         \
  case type:                                                                                                       \
    gather_keys(args, type);                                                                                       \
    break;
FOVEA_KERNEL void FOVEA_NAME(gather)(const fovea_gather_args *args) {
  switch (args->type) {
  default:
    FOVEA_FORMATS(GATHER_CASE, )
  }
  while (args->last && args->stack->depth > 1) gather_merge(args->stack, args->dim);
}
