/* Quantised weights for the tests of fovea_nn, made and read byte by byte as nn/quantised.h says that they lie, and
 * codes of rows as docs/numerics.md, section 16, says. Shares no code with the library. */
#ifndef FOVEA_TESTS_NN_CODED_WEIGHTS_H
#define FOVEA_TESTS_NN_CODED_WEIGHTS_H

#include "support/generator.h"
#include "support/guarded.h"

#include <stdint.h>

/* Random quantised weights, and what they hold. */
struct coded_weights {
  int64_t in, out;
  int bits, group, has_offsets; /* group 0: all dims */
  int64_t groups;               /* of a row */
  struct guarded memory;        /* read-only; ends at a guard page */
  int8_t *codes;                /* [out][in]: values */
  float *scales, *offsets;      /* [out][group] */
};

/* `extreme`: all codes are the smallest. Scales and offsets of both signs; a few are 0. */
struct coded_weights coded_weights_create(int64_t in, int64_t out, int bits, int group, int has_offsets,
                                          int extreme, struct generator *generator);
void coded_weights_destroy(struct coded_weights *weights);

/* The bytes of such weights. */
size_t coded_weights_size(int64_t in, int64_t out, int bits, int group, int has_offsets);

/* Writes codes and scales of 8 bits, one scale an output, as the bytes of quantised weights. */
void coded_weights_write(unsigned char *to, const struct coded_weights *weights, const int8_t values[16]);

/* The codes of a row, and its scale. */
void coded_row(const float *row, int64_t dim, int8_t *codes, float *scale);

#endif
