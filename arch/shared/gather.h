/* Rows that see few keys here and there: the states of one row over the blocks of keys that a list names, with dims
 * in the lanes. The arithmetic is as in state.h and decode_softmax.h. */
#ifndef FOVEA_ARCH_SHARED_GATHER_H
#define FOVEA_ARCH_SHARED_GATHER_H

#include "../args/lists.h"
#include "../kernels.h"
#include "state.h"
#include "types.h"

/* The numbers of one block's keys. */
typedef struct gather_run {
  int begin, end; /* keys of the call */
  int64_t span;
  float maximum;
} gather_run;

/* Sets the blocks that keys lie in, and the largest score of each. Where a block ends cannot be foreseen, so
 * nothing branches there. Returns how many. */
FOVEA_INLINE int gather_runs(const fovea_gather_args *args, gather_run *runs, int *are_nan, uint8_t *run_of) {
  int count = 0, is_nan = 0;
  float maximum = -INFINITY;
  int32_t last = -1;
  for (int key = 0; key < args->key_count; key++) {
    const int32_t block = args->keys[key] / FOVEA_BLOCK_KEYS;
    const int begins = block != last;
    const float score = args->scores[key], before = begins ? -INFINITY : maximum;
    maximum = score > before ? score : before;
    is_nan = (begins ? 0 : is_nan) | (score != score);
    runs[count].begin = key; /* kept if a block begins, else written again */
    count += begins;
    runs[count - 1].end = key + 1;
    runs[count - 1].span = block / FOVEA_SPAN_BLOCKS;
    runs[count - 1].maximum = maximum;
    are_nan[count - 1] = is_nan;
    run_of[key] = (uint8_t)(count - 1);
    last = block;
  }
  return count;
}

/* Cuts the keys into blocks that have a state, and sets what weights are powers of 2 of. Returns how many. */
FOVEA_INLINE int gather_blocks(const fovea_gather_args *args, gather_run *runs, float *shifted) {
  int are_nan[FOVEA_BLOCK_KEYS], kept = 0;
  uint8_t run_of[FOVEA_BLOCK_KEYS];
  const int count = gather_runs(args, runs, are_nan, run_of);
  for (int key = 0; key < args->key_count; key++) {
    const float maximum = runs[run_of[key]].maximum;
    shifted[key] = args->scores[key] - (maximum == -INFINITY ? 0.0f : maximum);
  }
  for (int i = 0; i < count; i++) {
    if (runs[i].maximum == -INFINITY && !are_nan[i]) continue;
    runs[kept] = runs[i];
    runs[kept++].maximum += 0.0f; /* -0 becomes +0 */
  }
  return kept;
}

/* The sum of a block's weights. A sum of one or two numbers is the same in any order. */
FOVEA_NOINLINE float gather_sum_many(const gather_run *run, const int32_t *keys, const float *weights) {
  float sums[FOVEA_WEIGHT_SUMS] = {0};
  for (int key = run->begin; key < run->end; key++) sums[keys[key] % FOVEA_WEIGHT_SUMS] += weights[key];
  FOVEA_UNROLL
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    FOVEA_UNROLL
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  }
  return sums[0];
}

FOVEA_INLINE float gather_sum(const gather_run *run, const int32_t *keys, const float *weights) {
  if (run->end - run->begin == 1) return weights[run->begin];
  if (run->end - run->begin == 2) return weights[run->begin] + weights[run->begin + 1];
  return gather_sum_many(run, keys, weights);
}

/* How high the tree is in which two spans first have a common node. */
FOVEA_INLINE int gather_height(int64_t a, int64_t b) {
  int height = 0;
  for (int64_t differ = a ^ b; differ; differ >>= 1) height++;
  return height;
}

/* What is done to the states that wait: the next block joins the last one, if it is of the same span, or waits,
 * too; or the last two merge. */
typedef enum gather_kind { GATHER_WAIT, GATHER_JOIN, GATHER_MERGE } gather_kind;

/* Steps of a call: each block is one, and all states but one may merge. `left` and `right` are what the sides'
 * factors are powers of 2 of, then the factors. */
enum { GATHER_STEPS = FOVEA_BLOCK_KEYS + FOVEA_BLOCK_KEYS + FOVEA_GATHER_DEPTH };
typedef struct gather_steps {
  int count;
  gather_kind kinds[GATHER_STEPS];
  float left[GATHER_STEPS + LANES], right[GATHER_STEPS + LANES];
} gather_steps;

/* Adds a step in which a state merges into the one at `place`. */
FOVEA_INLINE void gather_add_merge(fovea_gather_stack *stack, int place, float maximum, gather_kind kind,
                                   gather_steps *steps) {
  const float old = stack->maxima[place], merged = maximum > old ? maximum : old;
  const float reference = merged == -INFINITY ? 0.0f : merged;
  steps->kinds[steps->count] = kind;
  steps->left[steps->count] = old - reference;
  steps->right[steps->count++] = maximum - reference;
  stack->maxima[place] = merged;
}

FOVEA_INLINE void gather_add_rise(fovea_gather_stack *stack, gather_steps *steps) {
  const int right = --stack->depth;
  stack->spans[right - 1] = stack->spans[right];
  gather_add_merge(stack, right - 1, stack->maxima[right], GATHER_MERGE, steps);
}

/* Adds the steps of a block: nodes that end before its span merge first. */
FOVEA_INLINE void gather_add_block(fovea_gather_stack *stack, const gather_run *run, gather_steps *steps) {
  const int top = stack->depth - 1;
  if (top >= 0 && stack->spans[top] == run->span) {
    gather_add_merge(stack, top, run->maximum, GATHER_JOIN, steps);
    return;
  }
  const int height = top >= 0 ? gather_height(stack->spans[top], run->span) : 0;
  while (stack->depth > 1 && stack->heights[stack->depth - 1] < height) gather_add_rise(stack, steps);
  stack->heights[stack->depth] = height;
  stack->maxima[stack->depth] = run->maximum;
  stack->spans[stack->depth++] = run->span;
  steps->kinds[steps->count] = GATHER_WAIT;
  steps->left[steps->count] = steps->right[steps->count] = 0.0f;
  steps->count++;
}

FOVEA_INLINE void gather_powers(float *numbers, int count) {
  for (int i = 0; i < LANES; i++) numbers[count + i] = 0.0f;
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) vec_store(numbers + i, vec_exp2(vec_load(numbers + i)));
}

/* Sums and outputs of two states, the right one of which lies above the left one. */
FOVEA_INLINE void gather_merge(fovea_gather_stack *stack, int right, vec left_part, vec right_part, int64_t dim) {
  float *to = stack->outputs[right - 1];
  const float *from = stack->outputs[right];
  vec_store_first(&stack->sums[right - 1],
                  state_join(vec_set1(stack->sums[right - 1]), left_part, vec_set1(stack->sums[right]), right_part),
                  1);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d += LANES) {
    vec_store(to + d, state_join(vec_load(to + d), left_part, vec_load(from + d), right_part));
  }
}

/* Weights times values of one block, at dim d. */
FOVEA_INLINE vec gather_value(const fovea_gather_args *args, const gather_run *run, const float *weights, int64_t d,
                              int count, const fovea_type type) {
  vec sum = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = run->begin; key < run->end; key++) {
    const vec value = count == LANES ? typed_load(args->values[key], d, type)
                                     : typed_load_first(args->values[key], d, count, type);
    sum = vec_fma(vec_set1(weights[key]), value, sum);
  }
  return sum;
}

/* Sets the outputs of a block, or joins it to the outputs that are there. Most blocks have one key: its loop has no
 * other in it. */
FOVEA_INLINE void gather_output(const fovea_gather_args *args, const gather_run *run, const float *weights,
                                float *output, const int joins, vec left_part, vec right_part,
                                const fovea_type type) {
  const int64_t single = run->end - run->begin == 1 ? args->dim - args->dim % LANES : 0;
  const vec weight = vec_set1(weights[run->begin]);
  const void *row = args->values[run->begin];
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d < single; d += LANES) {
    const vec value = vec_fma(weight, typed_load(row, d, type), vec_set1(0.0f));
    vec_store(output + d, joins ? state_join(vec_load(output + d), left_part, value, right_part) : value);
  }
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES) {
    const vec value = gather_value(args, run, weights, d, LANES, type);
    vec_store(output + d, joins ? state_join(vec_load(output + d), left_part, value, right_part) : value);
  }
  if (d < args->dim) {
    const vec value = gather_value(args, run, weights, d, (int)(args->dim - d), type);
    vec_store(output + d, joins ? state_join(vec_load(output + d), left_part, value, right_part) : value);
  }
}

/* The next block: a state of its own at `place`, or joined to the one that is there. */
FOVEA_INLINE void gather_block(const fovea_gather_args *args, const gather_run *run, const float *weights,
                               int place, int joins, vec left_part, vec right_part, const fovea_type type) {
  float *output = args->stack->outputs[place], *total = &args->stack->sums[place];
  const float sum = gather_sum(run, args->keys, weights);
  if (joins) {
    vec_store_first(total, state_join(vec_set1(*total), left_part, vec_set1(sum), right_part), 1);
    gather_output(args, run, weights, output, 1, left_part, right_part, type);
  } else {
    *total = sum;
    gather_output(args, run, weights, output, 0, left_part, right_part, type);
  }
}

/* What one call does. */
typedef struct gather_work {
  gather_run runs[FOVEA_BLOCK_KEYS + 1]; /* one more: see gather_runs() */
  float weights[FOVEA_BLOCK_KEYS + LANES];
  gather_steps steps;
} gather_work;

/* The keys of one call are whole blocks, and so are the keys of the calls before it. Maxima decide all factors, so
 * the factors are computed together before any sum. */
FOVEA_NOINLINE void gather_prepare(const fovea_gather_args *args, gather_work *work) {
  fovea_gather_stack *stack = args->stack;
  gather_steps *steps = &work->steps;
  const int blocks = gather_blocks(args, work->runs, work->weights);
  steps->count = 0;
  for (int i = 0; i < blocks; i++) gather_add_block(stack, &work->runs[i], steps);
  while (args->last && stack->depth > 1) gather_add_rise(stack, steps);
  gather_powers(work->weights, args->key_count);
  gather_powers(steps->left, steps->count);
  gather_powers(steps->right, steps->count);
}

FOVEA_INLINE void gather_keys(const fovea_gather_args *args, const fovea_type type) {
  gather_work work;
  int depth = args->stack->depth;
  gather_prepare(args, &work);
  const gather_steps *steps = &work.steps;
  const gather_run *run = work.runs;
  FOVEA_NO_UNROLL
  for (int i = 0; i < steps->count; i++) {
    const vec left_part = vec_set1(steps->left[i]), right_part = vec_set1(steps->right[i]);
    if (steps->kinds[i] == GATHER_MERGE) {
      gather_merge(args->stack, --depth, left_part, right_part, args->dim);
    } else {
      const int joins = steps->kinds[i] == GATHER_JOIN;
      gather_block(args, run++, work.weights, joins ? depth - 1 : depth++, joins, left_part, right_part, type);
    }
  }
}

#endif
