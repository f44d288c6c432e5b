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
  float numbers[16];   /* of codes of 4 bits: those of the table, or the codes less the bias */
  int64_t row_bytes;   /* of a row, for prefetches */
  int64_t group;       /* dims that share a scale; at least 1 */
  int panels;          /* 1: rows of codes lie side by side in words, panel[word][key] */
  int item;            /* bytes of a row that are neighbours; 0: all of them */
  int64_t item_step;   /* between items, and from sixteen of them to the next sixteen */
  int64_t chunk_step;
  int mixed;           /* 1: groups are small, and their codes follow each other without a gap */
  int64_t group_step;  /* bytes from the codes of a group of dims to those of the next group */
  int64_t scale_group; /* bytes from the scale of a group of dims to that of the next group */
  int int8_rows; /* 1: rows are int8 with one scale, which several rows may share; 2: each has its own; else 0 */
} fovea_codes;

/* Whether decoding knows a format: its codes become numbers in registers, sixteen bytes at a time, whose dims have
 * one scale. Rows of other formats are widened. */
static inline int fovea_decodes_codes(const fovea_codes *codes, int64_t dim) {
  const int bytes = codes->code <= FOVEA_CODE_E5M2, chunk = bytes ? 16 : 32;
  if (!bytes && codes->code != FOVEA_CODE_U4 && codes->code != FOVEA_CODE_U4_HALVES) return 0;
  if (codes->item && !codes->panels) return 0;
  if (codes->table || codes->mixed || dim % chunk != 0 || codes->group % chunk != 0) return 0;
  if (codes->code == FOVEA_CODE_U4_HALVES && codes->group != 32) return 0;
  return codes->code == FOVEA_CODE_U8 || !bytes || codes->formula == FOVEA_FORMULA_SCALE;
}

/* Whether two sides become numbers in the same way. */
static inline int fovea_same_codes(const fovea_codes *a, const fovea_codes *b) {
  return a->code == b->code && a->formula == b->formula && a->scale_type == b->scale_type && a->table == b->table &&
         a->bias >= b->bias && a->bias <= b->bias && a->item == b->item && a->group == b->group &&
         a->group_step == b->group_step && a->scale_group == b->scale_group;
}

/* Rows of such a format in decoding: one pointer a key. */
typedef struct fovea_coded_keys {
  const fovea_codes *codes;  /* NULL: the rows have no format */
  const void *const *scales; /* of each key's first group of dims */
  int has_zeros;
  int64_t zeros_at; /* bytes from a scale to its zero */
  int64_t
      scale_step; /* bytes from key to key, but that pointers behind the last key repeat its own; -1: they differ */
} fovea_coded_keys;

/* Rows at equal distances. */
typedef struct fovea_coded_rows {
  const char *codes;          /* of the first group of dims; in panels, the first word */
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
