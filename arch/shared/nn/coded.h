/* Numbers of quantised weights: outputs lie in the lanes, a word has the codes of some dims of each. A number is
 * fma(value, scale, offset), and without offsets fl(value * scale), which the sum with -0 does not change. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_CODED_H
#define FOVEA_ARCH_SHARED_NN_CODED_H

#include "../../nn_kernels.h"

#if FOVEA_BUILDS_FORMATS

/* What 4-bit codes stand for. */
typedef struct coded_values {
#ifdef FOVEA_VECTOR_LOOKS_UP
  vec numbers;
#else
  const int8_t *values;
#endif
} coded_values;

FOVEA_INLINE coded_values coded_values_of(const fovea_nn_coded_panels *panels) {
  coded_values values;
#ifdef FOVEA_VECTOR_LOOKS_UP
  values.numbers = vec_load_s8(panels->values);
#else
  values.values = panels->values;
#endif
  return values;
}

/* The words of LANES outputs, as they lie, or as the values of four dims each. */
typedef struct coded_words {
  vec first, second;
} coded_words;

FOVEA_INLINE coded_words coded_load(const char *p, const int bits, const coded_values *values) {
  coded_words words;
  words.first = words.second = vec_load_word(p);
#ifndef FOVEA_VECTOR_LOOKS_UP
  if (bits == 4) {
    words.second = vec_word_values(words.first, values->values, 1);
    words.first = vec_word_values(words.first, values->values, 0);
  }
#else
  (void)bits, (void)values;
#endif
  return words;
}

/* The values for the word's dim `i`, a constant. */
FOVEA_INLINE vec coded_value(const coded_words *words, const int i, const int bits, const coded_values *values) {
#ifdef FOVEA_VECTOR_LOOKS_UP
  if (bits == 4) return vec_look_up(values->numbers, vec_word_bits(words->first, i % 4 * 8 + i / 4 * 4));
#endif
  (void)bits, (void)values;
  return vec_word_signed(i < 4 ? words->first : words->second, i % 4 * 8);
}

/* Where LANES outputs, vector `vector` of all, begin in each array of their panel. */
FOVEA_INLINE const char *coded_lanes(const fovea_nn_coded_panels *panels, int vector) {
  const unsigned out = (unsigned)vector * LANES; /* unsigned: divided by a shift */
  return panels->first + out / FOVEA_NN_PANEL * panels->stride + out % FOVEA_NN_PANEL * sizeof(float);
}

/* Bytes from one group, or word, to the next in a panel. */
enum { CODED_ROW = FOVEA_NN_PANEL * sizeof(float) };

FOVEA_INLINE int coded_groups(const fovea_nn_coded_panels *panels) {
  return (panels->dims + panels->group - 1) / panels->group;
}

/* The scales, or the offsets, at a place. */
FOVEA_INLINE vec coded_numbers(const char *p) {
  return vec_load((const float *)(const void *)p);
}

/* ---- Copies as f32 -------------------------------------------------------------------------------------------- */

/* LANES outputs of a panel. */
FOVEA_INLINE void coded_widen(const fovea_nn_coded_panels *panels, int vector, const int bits, float *to) {
  const int word_dims = 32 / bits, groups = coded_groups(panels);
  const coded_values values = coded_values_of(panels);
  const char *scales = coded_lanes(panels, vector), *offsets = scales + groups * CODED_ROW;
  const char *codes = panels->has_offsets ? offsets + groups * CODED_ROW : offsets;
  for (int dim = 0; dim < panels->dims; dim += word_dims, codes += CODED_ROW) {
    const int group = dim / panels->group;
    const vec scale = coded_numbers(scales + group * CODED_ROW);
    const vec offset = panels->has_offsets ? coded_numbers(offsets + group * CODED_ROW) : vec_set1(-0.0f);
    const coded_words words = coded_load(codes, bits, &values);
    FOVEA_UNROLL
    for (int i = 0; i < word_dims; i++) {
      if (dim + i < panels->dims)
        vec_store(to + (dim + i) * FOVEA_NN_PANEL, vec_fma(coded_value(&words, i, bits, &values), scale, offset));
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_widen_codes)(const fovea_nn_coded_panels *panels, float *to) {
  for (int vector = 0; vector < panels->panels * (FOVEA_NN_PANEL / LANES); vector++) {
    const int out = vector * LANES;
    float *lanes = to + out / FOVEA_NN_PANEL * FOVEA_DOT_PIECE * FOVEA_NN_PANEL + out % FOVEA_NN_PANEL;
    if (panels->bits == 4)
      coded_widen(panels, vector, 4, lanes);
    else
      coded_widen(panels, vector, 8, lanes);
  }
}

#endif
#endif
