/* Rotary embeddings that were scaled to longer contexts than a model was trained for, by their names: frequencies,
 * the factor on scores, tables, and the axes of M-RoPE. The names and numbers come from `rope_parameters` in a
 * model's config.json (transformers); each field gives its name there.
 *
 *   fovea_rotary_scaling scaling;
 *   double frequencies[64], factor;
 *   fovea_rotary_scaling_init(&scaling, FOVEA_SCALING_LLAMA3, 128);
 *   scaling.base = 500000, scaling.factor = 8, scaling.trained_length = 8192;
 *   status = fovea_rotary_frequencies(&scaling, frequencies, &factor, &error);
 *   fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 128);
 *   rotary.frequencies = frequencies;
 *   problem.scale *= factor * factor;
 *
 * All numbers are computed with integers and single roundings of doubles, so they are the same on every machine
 * (docs/numerics.md, section 12). The functions are thread-safe. */
#ifndef FOVEA_ROTARY_SCALING_H
#define FOVEA_ROTARY_SCALING_H

#include <fovea/rotary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How frequencies are scaled. n is dims / 2, i counts pairs, g[i] = base^(-i / n) is the plain frequency, s is
 * `factor`, L is `trained_length`. */
typedef enum fovea_scaling_rule {
  /* f[i] = g[i] */
  FOVEA_SCALING_NONE = 0,

  /* Position interpolation (Chen et al., 2023; kaiokendev), "linear": f[i] = g[i] / s. */
  FOVEA_SCALING_LINEAR = 1,

  /* NTK-aware (bloc97, 2023): f[i] = g[i] of the base base * s^(d / (d - 2)), d = dims. */
  FOVEA_SCALING_NTK = 2,

  /* Dynamic NTK (emozilla, 2023), "dynamic", for sequences of `length`: NTK with s * length / L - (s - 1) for s; up
   * to L it is none. A model recomputes it as a sequence grows, but keys that lie in a cache keep the frequencies
   * that they were rotated by, so choose one length and make one list for it. */
  FOVEA_SCALING_DYNAMIC_NTK = 3,

  /* Llama 3.1, "llama3". r = g[i] L / (2 pi) is how often the pair turns in the trained length. f[i] = g[i] / s
   * where r is less than slow_turns, g[i] where it is more than fast_turns, and between them, with t = (r -
   * slow_turns) / (fast_turns - slow_turns), f[i] = (1 - t) g[i] / s + t g[i]. */
  FOVEA_SCALING_LLAMA3 = 4,

  /* YaRN (Peng et al., 2023), "yarn". c(turns) = n ln(L / (2 pi turns)) / ln(base) is the pair that turns so often;
   * low = floor(c(fast_turns)), but at least 0, and high = ceil(c(slow_turns)), but at most dims - 1 (not rounded
   * with `exact_pairs`); t = (i - low) / (high - low), kept from 0 to 1 (high + 0.001 where they are equal); f[i] =
   * t g[i] / s + (1 - t) g[i]. The factor on cosines and sines is 0.1 ln(s) + 1, or, with both mscale numbers, (0.1
   * mscale ln(s) + 1) / (0.1 mscale_all_dim ln(s) + 1). */
  FOVEA_SCALING_YARN = 5,

  /* LongRoPE (Ding et al., 2024), "longrope": f[i] = g[i] / short_factors[i], or with a `length` of more than L
   * g[i] / long_factors[i]. s is max_position_embeddings / L, and the factor on cosines and sines is
   * sqrt(1 + ln(s) / ln(L)), 1 if s is at most 1. Choose by the longest length that a cache will have. */
  FOVEA_SCALING_LONGROPE = 6,

  /* Gemma 4, "proportional": f[i] = g[i] / s for the first rotated_dims / 2 pairs, and 0 for all others, which so
   * keep their elements. Not to be taken for a partial rotary embedding, whose `dims` are fewer. */
  FOVEA_SCALING_PROPORTIONAL = 7
} fovea_scaling_rule;

/* A scaled embedding. Prepare it with fovea_rotary_scaling_init(), then set what the rule needs. What it does not
 * use keeps its default (else FOVEA_ERROR_UNUSED). */
typedef struct fovea_rotary_scaling {
  size_t struct_size; /* set by fovea_rotary_scaling_init() */
  fovea_scaling_rule rule;
  int64_t dims;  /* rotated elements of a row, even: head_dim * partial_rotary_factor; from 2 to 2^20 */
  double base;   /* rope_theta; finite, at least 1 (YaRN: more than 1); default 10000 */
  double factor; /* factor; finite, at least 1; default 1 */
  /* original_max_position_embeddings, of "dynamic" max_position_embeddings; from 2 to 2^40. Default 0: not set; the
   * rules that name L need it. */
  int64_t trained_length;
  int64_t length; /* DYNAMIC_NTK, LONGROPE: of the sequence, at least 1; default 0: trained_length */
  /* LLAMA3: low_freq_factor and high_freq_factor, default 1 and 4. YARN: beta_slow and beta_fast, default 1 and 32.
   * More than 0; fast_turns is more than slow_turns. */
  double slow_turns, fast_turns;
  int exact_pairs;               /* YARN: 1 if `truncate` is false; default 0 */
  double mscale, mscale_all_dim; /* YARN: of DeepSeek; finite; default 0: none */
  double attention_factor;       /* YARN, LONGROPE: attention_factor; more than 0; default 0: by the rule */
  const double *short_factors, *long_factors; /* LONGROPE: dims / 2 numbers each, more than 0; default NULL */
  int64_t rotated_dims; /* PROPORTIONAL: even, from 0 (default) to dims: head_dim * partial_rotary_factor */
} fovea_rotary_scaling;

/* Sets rule and dims, and the other fields to the rule's defaults. Callers in C use fovea_rotary_scaling_init(). */
FOVEA_API void fovea_rotary_scaling_init_sized(fovea_rotary_scaling *scaling, size_t struct_size,
                                               fovea_scaling_rule rule, int64_t dims);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_rotary_scaling_init(fovea_rotary_scaling *scaling, fovea_scaling_rule rule, int64_t dims) {
  fovea_rotary_scaling_init_sized(scaling, sizeof *scaling, rule, dims);
}

/* Writes dims / 2 frequencies, for fovea_rotary, and the factor by which a model multiplies cosines and sines
 * (transformers' attention_scaling): 1, but for YaRN and LongRoPE. Queries and keys both get it, so scores of rows
 * that are rotated whole are multiplied by its square: do that to the problem's scale. If only some elements of a
 * row are rotated, only they are multiplied: rotate by tables that have the factor (fovea_rotary_tables()).
 * Errors: FOVEA_ERROR_ARGUMENT, FOVEA_ERROR_UNUSED. On failure nothing is written. */
FOVEA_API fovea_status fovea_rotary_frequencies(const fovea_rotary_scaling *scaling, double *frequencies,
                                                double *attention_factor, fovea_error *error);

/* Writes tables for fovea_rotary: `rows` rows of dims / 2 cosines, and of sines, of positions 0, 1, ... of an
 * embedding with a base or frequencies, each multiplied by (float)factor and rounded. Row by row: time of rows *
 * dims / 2 angles. FOVEA_ERROR_ARGUMENT if the embedding is refused or has tables, rows is not from 0 to 2^40, or
 * factor is not finite or not more than 0. On failure nothing is written. */
FOVEA_API fovea_status fovea_rotary_tables(const fovea_rotary *rotary, double factor, int64_t rows, float *cosines,
                                           float *sines, fovea_error *error);

/* How the pairs of M-RoPE lie. */
typedef enum fovea_section_layout {
  FOVEA_SECTIONS_IN_ROW = 0,     /* Qwen2-VL, Qwen2.5-VL, GLM-4V: the pairs of axis 0, then of axis 1, ... */
  FOVEA_SECTIONS_INTERLEAVED = 1 /* Qwen3-VL: pair i belongs to axis a = i mod axes, but from pair axes *
                                    sections[a] on to axis 0 */
} fovea_section_layout;

/* Writes pair_axes of fovea_rotary, `pairs` (dims / 2) numbers, from mrope_section: how many pairs each of `axes`
 * axes has. FOVEA_ERROR_ARGUMENT if axes is not from 1 to FOVEA_ROTARY_AXES, a section is negative, the sections do
 * not add up to `pairs`, or interleaved ones leave no room. On failure nothing is written. */
FOVEA_API fovea_status fovea_rotary_sections(fovea_section_layout layout, const int64_t *sections, int64_t axes,
                                             int64_t pairs, unsigned char *pair_axes, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
