/* Rotates pairs of elements of rows, and converts elements from type to type. Part of bodies.h. */

#include "../kernels.h"
#include "fetch.h"
#include "types.h"

FOVEA_INLINE void widen_elements(const void *from, int64_t count, float *to, const fovea_type type) {
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) vec_store(to + i, typed_load(from, i, type));
  if (i < count) vec_store_first(to + i, typed_load_first(from, i, (int)(count - i), type), (int)(count - i));
}

FOVEA_INLINE void narrow_elements(const float *from, int64_t count, void *to, const fovea_type type) {
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) typed_store(to, i, vec_load(from + i), type);
  if (i < count) typed_store_first(to, i, vec_load_first(from + i, (int)(count - i)), (int)(count - i), type);
}

FOVEA_MIDDLE FOVEA_NOINLINE void rotary_load(const void *from, fovea_type type, int64_t first, int count,
                                             float *to){
    TYPED(type, widen_elements(typed_at(from, first, constant), count, to, constant))}

FOVEA_MIDDLE FOVEA_NOINLINE
    void rotary_store(const float *from, void *to, fovea_type type, int64_t first, int count){
        TYPED(type, narrow_elements(from, count, typed_output_at(to, first, constant), constant))}

/* One product is rounded and the other is fused: no compiler can contract this any further. */
FOVEA_INLINE void rotate_pairs(float *first, float *second, const fovea_rotate_args *args) {
  for (int i = 0; i < args->pair_count; i += LANES) {
    vec x = vec_load(first + i), y = vec_load(second + i);
    vec cosine = vec_load(args->cosines + i), sine = vec_load(args->sines + i);
    vec_store(first + i, canonical(vec_fnma(y, sine, vec_mul(x, cosine))));
    vec_store(second + i, canonical(vec_fma(y, cosine, vec_mul(x, sine))));
  }
}

/* Whole vectors of pairs, to f32, without a copy in between. */
FOVEA_INLINE void rotate_vectors(const fovea_rotate_args *args, const fovea_type type) {
  const float *cosines = args->cosines, *sines = args->sines;
  const int64_t partner = args->partner;
  const void *from = args->from;
  float *to = args->to;
  const int count = args->pair_count;
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) {
    const vec x = typed_load(from, i, type), y = typed_load(from, partner + i, type);
    const vec cosine = vec_load(cosines + i), sine = vec_load(sines + i);
    fetch_ahead(typed_at(from, i, type));
    fetch_ahead(typed_at(from, partner + i, type));
    vec_store(to + i, canonical(vec_fnma(y, sine, vec_mul(x, cosine))));
    vec_store(to + partner + i, canonical(vec_fma(y, cosine, vec_mul(x, sine))));
  }
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(rotate)(const fovea_rotate_args *args) {
  const int count = args->pair_count;
  if (args->partner >= count && args->to_type == FOVEA_F32 && count % LANES == 0) {
    TYPED(args->from_type, rotate_vectors(args, constant))
    return;
  }
  float first[FOVEA_ROTATE_PAIRS] = {0}, second[FOVEA_ROTATE_PAIRS] = {0}, both[2 * FOVEA_ROTATE_PAIRS];
  if (args->partner == 1) {
    rotary_load(args->from, args->from_type, 0, 2 * count, both);
    for (int i = 0; i < count; i++) first[i] = both[2 * i], second[i] = both[2 * i + 1];
  } else {
    rotary_load(args->from, args->from_type, 0, count, first);
    rotary_load(args->from, args->from_type, args->partner, count, second);
  }
  rotate_pairs(first, second, args);
  if (args->partner == 1) {
    for (int i = 0; i < count; i++) both[2 * i] = first[i], both[2 * i + 1] = second[i];
    rotary_store(both, args->to, args->to_type, 0, 2 * count);
  } else {
    rotary_store(first, args->to, args->to_type, 0, count);
    rotary_store(second, args->to, args->to_type, args->partner, count);
  }
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(convert)(const fovea_convert_args *args) {
  enum { PIECE = 128 };
  float numbers[PIECE] = {0};
  for (int64_t i = 0; i < args->count; i += PIECE) {
    int count = args->count - i < PIECE ? (int)(args->count - i) : PIECE;
    rotary_load(args->from, args->from_type, i, count, numbers);
    for (int j = 0; j < count; j += LANES) vec_store(numbers + j, canonical(vec_load(numbers + j)));
    rotary_store(numbers, args->to, args->to_type, i, count);
  }
}
