/* The border between src/ and the instruction sets for narrow formats (fovea/format.h): where the codes of keys or
 * values lie, where their scales, and how they become numbers. One form for all formats: strides in bytes. */
#ifndef FOVEA_ARCH_CODES_H
#define FOVEA_ARCH_CODES_H

#include "../include/fovea/format.h"

#include <stdint.h>

/* What all rows of a side have in common. */
typedef struct fovea_codes {
  fovea_code code;
  fovea_formula formula;
  fovea_type scale_type;
  float bias;
  const int8_t *table; /* NULL: none */
  int64_t group;       /* dims that share a scale; at least 1 */
  int mixed;           /* 1: groups are small, and their codes follow each other without a gap */
  int64_t group_step;  /* bytes from the codes of a group of dims to those of the next group */
  int64_t scale_group; /* bytes from the scale of a group of dims to that of the next group */
} fovea_codes;

/* Rows at equal distances. */
typedef struct fovea_coded_rows {
  const char *codes;          /* of the first group of dims */
  const char *scales, *zeros; /* of the same group; zeros: NULL if the formula has none */
  int64_t code_step;          /* bytes from a row's codes to those of the next row */
  int64_t scale_step;         /* bytes from a row's scales, and zeros, to those of the next row */
  int shift, shift_step;      /* of codes along keys: the first row's bits in a word, and bits from row to row */
  const float *centre;        /* a number for each dim; NULL: none */
} fovea_coded_rows;

/* Writes rows as f32: to[row * to_stride + d]. Whole vectors are written, as fovea_widen_args says. */
typedef struct fovea_widen_codes_args {
  const fovea_codes *codes;
  fovea_coded_rows rows;
  int64_t row_count;
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_codes_args;

#endif
