/* The contract of modes with other arithmetic (docs/numerics.md, section 16), one output row at a time, written
 * for reading. Scores and values have a mode each. It shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_MODES_H
#define FOVEA_TESTS_CONTRACT_MODES_H

#include <stdint.h>

enum contract_mode { MODE_EXACT, MODE_BF16, MODE_INT8 };

/* Fields that an initialiser leaves out are absent features. Numbers are f32, converted from what is stored. */
struct contract_mode_row {
  enum contract_mode scores, values;
  const float *q;
  const float *k, *v; /* of position 0 */
  int64_t k_stride, v_stride, qk_dim, v_dim, positions;
  double scale, softcap;     /* softcap 0: none */
  const float *const *terms; /* what each adds to the scores of all positions; the mask comes last */
  int term_count;
  const float *sink;
  int (*sees)(const void *rules, int64_t position);
  const void *rules;
  /* int8: rows that are stored as codes with one scale each, in place of k, v; NULL: rows are quantised. */
  const int8_t *k_codes, *v_codes;          /* [position][dim] */
  const unsigned char *k_stored, *v_stored; /* 1: the position's row is stored so; NULL: all are */
  const float *k_scales, *v_scales;
  /* int8: fixed numbers of the caller for each dim. K and key_centre have been divided by key_scale, V by
   * value_scale. */
  const float *key_centre, *key_scale, *value_scale;
};

/* 2^x of modes, for x <= 8. */
float contract_mode_exp2(float x);
/* Codes of a row and its scale. */
float contract_mode_quantise(const float *x, int64_t count, int8_t *codes);
/* x rounded to bf16, and 0 below 2^-56. */
float contract_mode_bf16(float x);
/* The product of `count` numbers in bf16 mode. */
float contract_mode_dot_bf16(const float *a, const float *b, int64_t count);

/* Writes v_dim numbers and the row's log-sum-exp. */
void contract_mode_row(const struct contract_mode_row *row, float *out, float *lse);

#endif
