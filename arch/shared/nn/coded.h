/* Numbers of quantised weights: outputs lie in the lanes, a word has the codes of some dims of each. A number is
 * fma(value, scale, offset), and without offsets fl(value * scale), which the sum with -0 does not change. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_CODED_H
#define FOVEA_ARCH_SHARED_NN_CODED_H

#include "../../nn_kernels.h"

#if FOVEA_BUILDS_FORMATS

/* What codes are, a constant in kernels: words of codes of 4 or 8 bits, or e4m3; plain ones are of 8 bits without offsets,
 * where vectors take halves of words. */
enum { CODED_4, CODED_8, CODED_E4M3, CODED_PLAIN };

FOVEA_INLINE int coded_kind(const fovea_nn_coded_panels *panels) {
  return panels->bits == 4 ? CODED_4 : panels->is_e4m3 ? CODED_E4M3 : CODED_8;
}

/* Dims of a row of words. Of e4m3 two are enough, in the order of a dot product; more would only be more code. */
FOVEA_INLINE int coded_word_dims(const int kind) {
  return kind == CODED_4 ? 8 : kind == CODED_E4M3 ? 2 : 4;
}

/* Bytes of a row of words, and from output to output in it. */
FOVEA_INLINE int coded_row(const int kind) {
  return FOVEA_NN_PANEL * (kind == CODED_E4M3 ? 2 : (int)sizeof(float));
}
FOVEA_INLINE int coded_step(const int kind) {
  return kind == CODED_E4M3 ? 1 : (int)sizeof(float);
}

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

/* The words of LANES outputs, as they lie, or as the values of four dims each. Of e4m3 where they lie. */
typedef struct coded_words {
  vec first, second;
  const char *at;
} coded_words;

FOVEA_INLINE coded_words coded_load(const char *p, const int kind, const coded_values *values) {
  coded_words words = {.at = p};
  if (kind == CODED_E4M3) return words;
  words.first = words.second = vec_load_word(p);
#ifndef FOVEA_VECTOR_LOOKS_UP
  if (kind == CODED_4) {
    words.second = vec_word_values(words.first, values->values, 1);
    words.first = vec_word_values(words.first, values->values, 0);
  }
#else
  (void)values;
#endif
#ifdef FOVEA_VECTOR_HALVES_WORDS
  if (kind == CODED_PLAIN) {
    words.second = vec_word_half(words.first, 1);
    words.first = vec_word_half(words.first, 0);
  }
#endif
  return words;
}

/* The values for the word's dim `i`, a constant. */
FOVEA_INLINE vec coded_value(const coded_words *words, const int i, const int kind, const coded_values *values) {
  if (kind == CODED_E4M3) return vec_load_e4m3((const uint8_t *)words->at + i * FOVEA_NN_PANEL);
#ifdef FOVEA_VECTOR_LOOKS_UP
  if (kind == CODED_4) return vec_look_up(values->numbers, vec_word_bits(words->first, i % 4 * 8 + i / 4 * 4));
#endif
#ifdef FOVEA_VECTOR_HALVES_WORDS
  if (kind == CODED_PLAIN) return vec_half_signed(i < 2 ? words->first : words->second, i % 2 * 8);
#endif
  (void)values;
  return vec_word_signed(i < 4 ? words->first : words->second, i % 4 * 8);
}

/* Where LANES outputs, vector `vector` of all, begin in an array of their panel, `step` bytes an output. */
FOVEA_INLINE const char *coded_lanes(const fovea_nn_coded_panels *panels, int vector, const int step) {
  const unsigned out = (unsigned)vector * LANES; /* unsigned: divided by a shift */
  return panels->first + out / FOVEA_NN_PANEL * panels->stride + out % FOVEA_NN_PANEL * (unsigned)step;
}

/* Bytes from one group to the next in a panel. */
enum { CODED_ROW = FOVEA_NN_PANEL * sizeof(float) };

FOVEA_INLINE int coded_groups(const fovea_nn_coded_panels *panels) {
  return (panels->dims + panels->group - 1) / panels->group;
}

/* The first codes of these outputs. */
FOVEA_INLINE const char *coded_codes(const fovea_nn_coded_panels *panels, int vector, const int kind) {
  const int numbers = coded_groups(panels) * (1 + panels->has_offsets);
  return coded_lanes(panels, vector, coded_step(kind)) + numbers * CODED_ROW;
}

/* The scales, or the offsets, at a place. */
FOVEA_INLINE vec coded_numbers(const char *p) {
  return vec_load((const float *)(const void *)p);
}

/* ---- Copies as f32 -------------------------------------------------------------------------------------------- */

/* LANES outputs of a panel. */
FOVEA_INLINE void coded_widen(const fovea_nn_coded_panels *panels, int vector, const int kind, float *to) {
  const int word_dims = coded_word_dims(kind);
  const coded_values values = coded_values_of(panels);
  const char *scales = coded_lanes(panels, vector, sizeof(float));
  const char *offsets = scales + coded_groups(panels) * CODED_ROW, *codes = coded_codes(panels, vector, kind);
  for (int dim = 0; dim < panels->dims; dim += word_dims, codes += coded_row(kind)) {
    const int group = dim / panels->group;
    const vec scale = coded_numbers(scales + group * CODED_ROW);
    const vec offset = panels->has_offsets ? coded_numbers(offsets + group * CODED_ROW) : vec_set1(-0.0f);
    const coded_words words = coded_load(codes, kind, &values);
    FOVEA_UNROLL
    for (int i = 0; i < word_dims; i++) {
      if (dim + i < panels->dims)
        vec_store(to + (dim + i) * FOVEA_NN_PANEL, vec_fma(coded_value(&words, i, kind, &values), scale, offset));
    }
  }
}

/* The same of scattered groups. */
FOVEA_INLINE void coded_widen_scattered(const fovea_nn_coded_panels *panels, int vector, float *to) {
  const int out = vector * LANES;
  const coded_values values = coded_values_of(panels);
  const char *codes = coded_lanes(panels, vector, sizeof(float));
  const char *scales =
      panels->numbers + out / FOVEA_NN_PANEL * panels->number_stride + out % FOVEA_NN_PANEL * (int)sizeof(float);
  const char *offsets = scales + panels->groups * CODED_ROW;
  for (int dim = 0; dim < panels->dims; dim += coded_word_dims(CODED_4), codes += coded_row(CODED_4)) {
    const coded_words words = coded_load(codes, CODED_4, &values);
    FOVEA_UNROLL
    for (int i = 0; i < coded_word_dims(CODED_4); i++) {
      if (dim + i >= panels->dims) break;
      const int64_t at = (int64_t)panels->dim_groups[dim + i] * CODED_ROW;
      const vec scale = coded_numbers(scales + at), offset = coded_numbers(offsets + at);
      vec_store(to + (dim + i) * FOVEA_NN_PANEL, vec_fma(coded_value(&words, i, CODED_4, &values), scale, offset));
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_widen_codes)(const fovea_nn_coded_panels *panels, float *to) {
  for (int vector = 0; vector < panels->panels * (FOVEA_NN_PANEL / LANES); vector++) {
    const int out = vector * LANES;
    float *lanes = to + out / FOVEA_NN_PANEL * FOVEA_DOT_PIECE * FOVEA_NN_PANEL + out % FOVEA_NN_PANEL;
    if (panels->dim_groups)
      coded_widen_scattered(panels, vector, lanes);
    else if (coded_kind(panels) == CODED_4)
      coded_widen(panels, vector, CODED_4, lanes);
    else if (coded_kind(panels) == CODED_8)
      coded_widen(panels, vector, CODED_8, lanes);
    else
      coded_widen(panels, vector, CODED_E4M3, lanes);
  }
}

#endif
#endif
