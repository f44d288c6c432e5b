/* The quantiser FOVEA_QUANTISE_NEAREST in plain C: docs/numerics.md, section 14, number by number. Shares no code
 * with the library. */
#ifndef FOVEA_TESTS_NEAREST_H
#define FOVEA_TESTS_NEAREST_H

#include <fovea/format.h>

/* The scale and the zero or minimum of a group, as they are stored, and what its codes are made with. */
struct nearest_group {
  float scale, zero;   /* rounded to the format's scale_type */
  float factor, moved; /* a factor that is NaN: codes are blank */
  int fixed;
};

/* Of `count` numbers, `step` apart, that share a scale. */
struct nearest_group nearest_measure(const fovea_format *format, const float *x, int64_t count);
/* Of a scale that the caller gave. */
struct nearest_group nearest_fixed(float scale, float zero);

/* The code of a number, as it is stored. */
int nearest_code(const fovea_format *format, const struct nearest_group *group, float x);

#endif
