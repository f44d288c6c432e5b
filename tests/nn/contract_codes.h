/* Quantised weights: the number of each, by the words of the formats, without a line of the library. */
#ifndef FOVEA_TESTS_NN_CONTRACT_CODES_H
#define FOVEA_TESTS_NN_CONTRACT_CODES_H

#include <fovea/weights.h>

/* Bytes of `data` for a layer. Scales and zero points that lie apart are not among them. */
int64_t contract_codes_bytes(fovea_nn_format format, int64_t in, int64_t out);

/* The number of output `out` for dim `dim`. */
float contract_codes_number(const fovea_nn_codes *codes, int64_t out, int64_t dim);

/* The same number in parts: the value of its code, and the scale and the offset of its group of dims. */
struct contract_code {
  float value; /* an integer, or a number of e4m3 */
  float scale;
  int has_offset;
  float offset; /* 0 if there is none */
};
struct contract_code contract_codes_code(const fovea_nn_codes *codes, int64_t out, int64_t dim);
/* Dims that share a scale. */
int64_t contract_codes_group(const fovea_nn_codes *codes);

/* The number of an f16. */
float contract_codes_half(const uint8_t *bytes);

/* The same number, from packed weights as nn/quantised.h describes them. */
float contract_codes_packed(const void *weights, int64_t out, int64_t dim);

#endif
