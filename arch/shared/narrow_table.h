/* Quantising: codes of tables, and the scale that ggml fits to them. Part of narrow.h. */
#ifndef FOVEA_ARCH_SHARED_NARROW_TABLE_H
#define FOVEA_ARCH_SHARED_NARROW_TABLE_H

#include "narrow_measure.h"

/* Numbers, and the sum of each and the next. */
typedef struct narrow_table {
  float numbers[16], sums[16 + 3];
} narrow_table;

FOVEA_INLINE narrow_table narrow_open_table(const fovea_codes *codes) {
  narrow_table table;
  memcpy(table.numbers, codes->numbers, sizeof table.numbers);
  for (int i = 15; i < 19; i++) table.sums[i] = NARROW_LARGEST;
  for (int i = 0; i < 15; i++) table.sums[i] = table.numbers[i] + table.numbers[i + 1];
  return table;
}

/* The number of the table that is nearest to y; of two as near, the upper one. Sets bits whose lowest byte is its
 * code. NaN counts as large. */
FOVEA_INLINE vec narrow_nearest_number(const narrow_table *table, vec y, vec *bits) {
  const vec twice = vec_add(y, y);
#ifdef FOVEA_VECTOR_LOOKS_UP
  vec code = vec_set1(0x1.8p23f);
  code = vec_select(vec_less(twice, vec_set1(table->sums[7])), code, vec_set1(0x1.8p23f + 8.0f));
  FOVEA_UNROLL
  for (int step = 4; step > 0; step /= 2) {
    const vec sum = vec_look_up(vec_load(table->sums + step - 1), code);
    code = vec_select(vec_less(twice, sum), code, vec_add(code, vec_set1((float)step)));
  }
  const vec number = vec_look_up(vec_load(table->numbers), code);
#else
  vec code = vec_set1(0x1.8p23f), number = vec_set1(table->numbers[0]);
  FOVEA_NO_UNROLL
  for (int k = 0; k < 15; k++) {
    const vecmask below = vec_less(twice, vec_set1(table->sums[k]));
    code = vec_add(code, vec_select(below, vec_set1(0.0f), vec_set1(1.0f)));
    number = vec_select(below, number, vec_set1(table->numbers[k + 1]));
  }
#endif
  *bits = code;
  return number;
}

/* ggml's second scale of iq4_nl, in place of the first: the least error, weighted by squares. The sums of a group
 * have one order, so that each lane has a group of its own. */
FOVEA_NOINLINE void narrow_fit(const fovea_narrow_args *args, int64_t count) {
  const narrow_table table = narrow_open_table(args->codes);
  const int64_t group = args->codes->group;
  fovea_narrow_groups *groups = args->groups;
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g += LANES) {
    const vec factor = vec_load(groups->factor + g), zero = vec_set1(0.0f);
    const float *from[LANES];
    vec above = zero, below = zero;
    FOVEA_NO_UNROLL
    for (int i = 0; i < LANES; i++) from[i] = narrow_group(args, g + i < count ? g + i : count - 1);
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < group; d += LANES) {
      const int n = group - d < LANES ? (int)(group - d) : LANES;
      vec x[LANES];
      FOVEA_NO_UNROLL
      for (int i = 0; i < LANES; i++) x[i] = n < LANES ? vec_load_first(from[i] + d, n) : vec_load(from[i] + d);
      vec_transpose(x);
      FOVEA_NO_UNROLL
      for (int i = 0; i < n; i++) {
        vec bits;
        const vec number = narrow_nearest_number(&table, vec_mul(x[i], factor), &bits);
        const vec weighted = vec_mul(vec_mul(x[i], x[i]), number);
        above = vec_add(above, vec_mul(weighted, x[i]));
        below = vec_add(below, vec_mul(weighted, number));
      }
    }
    const vec fitted = vec_select(vec_less(zero, below), vec_div(above, below), zero);
    vec_store(groups->scale + g, vec_select(vec_is_nan(factor), vec_load(groups->scale + g), fitted));
  }
}

#endif
