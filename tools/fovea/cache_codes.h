/* A tensor (batch, kv_heads, rows, dim) in the codes of a quantised cache: what its bytes are, and the ways there and
 * back. Codes lie as (batch, kv_heads, rows of bytes) without gaps. Scales apart lie as (batch, kv_heads, groups of
 * keys, groups of dims); scales that all keys share are one number, or (kv_heads, dim). */
#ifndef FOVEA_TOOLS_CACHE_CODES_H
#define FOVEA_TOOLS_CACHE_CODES_H

#include "failure.h"

#include <fovea/format.h>

typedef struct tensor_shape {
  int64_t batch, kv_heads, rows, dim;
} tensor_shape;

typedef struct coded_tensor {
  tensor_shape shape;
  fovea_format format;
  int64_t unit_bytes, unit_keys; /* of a row; of a group of keys or a row of words */
  int64_t head_bytes;            /* of all rows of a kv head */
  int64_t size;                  /* bytes of all codes, with scales that lie beside them */
  int64_t key_groups, groups;    /* of scales apart; groups of dims. 0: no scales apart */
  int64_t scale_count;           /* of all scales apart */
  char *codes, *scales, *zeros;  /* scales and zeros: NULL if they are not apart, or there are none */
} coded_tensor;

/* What quantising cost: of x - x', in units of the root mean square of x's row. */
typedef struct coding_error {
  double rms, largest;
  int64_t rows, left_out; /* rows that count; rows with NaN, infinities or nothing but zeros do not */
} coding_error;

/* Finds a format by its preset's name. The text of a failure lists all names. */
bool coded_format(fovea_format *format, const char *option, const char *name, failure *why);

/* Bits of an element of a row of `dim` elements, with its share of scales, but for scales that all keys share. */
double coded_bits(const fovea_format *format, int64_t dim);

/* Whether all keys share the format's scales. */
bool coded_with_fixed_scales(const fovea_format *format);

/* Computes the sizes of a tensor. Allocates nothing. */
bool coded_measure(coded_tensor *tensor, const char *path, failure *why);

/* Allocates bytes of 0 for a measured tensor. */
bool coded_allocate(coded_tensor *tensor, failure *why);
void coded_free(coded_tensor *tensor);

/* Sets scales that all keys share: to the largest magnitude of the numbers over the largest code, or all to `scale`
 * if that is not 0. */
void coded_fix_scales(coded_tensor *tensor, const float *numbers, float scale);

/* Numbers to codes, and back. */
bool coded_write(coded_tensor *tensor, const void *numbers, fovea_type type, failure *why);
bool coded_read(const coded_tensor *tensor, void *numbers, fovea_type type, failure *why);

coding_error coded_compare(const coded_tensor *tensor, const float *numbers, const float *read);

#endif
