/* Quantised weights as engines keep them. */
#ifndef FOVEA_NN_CODES_H
#define FOVEA_NN_CODES_H

#include "quantised.h"

#include <fovea/weights.h>

/* A piece of an output's dims: a code each, and the groups' numbers. */
typedef struct fovea_nn_codes_piece {
  uint8_t codes[FOVEA_DOT_PIECE]; /* of 8 bits the value, of 4 bits and of e4m3 the code */
  float scales[FOVEA_DOT_PIECE / 16], offsets[FOVEA_DOT_PIECE / 16];
} fovea_nn_codes_piece;

/* What a format is. */
typedef struct fovea_nn_format_kind {
  int block, block_bytes;       /* dims of a block, and its bytes; 0: words with zero points */
  int bits, group, has_offsets; /* as in the header of quantised weights; group 0: the caller's */
  int8_t values[16];
} fovea_nn_format_kind;

enum { FOVEA_NN_FORMATS = FOVEA_NN_FORMAT_E4M3 + 1 };
extern const fovea_nn_format_kind fovea_nn_format_kinds[FOVEA_NN_FORMATS];

/* A call that was read and checked. */
typedef struct fovea_nn_codes_call {
  fovea_nn_codes codes;
  fovea_nn_quantised_header header; /* of what they become */
} fovea_nn_codes_call;

/* Reads and checks everything but memory. */
fovea_status fovea_nn_read_codes_call(const fovea_nn_codes *given, fovea_nn_codes_call *call, fovea_error *error);
/* Checks what is read and what is written. */
fovea_status fovea_nn_check_codes_memory(const fovea_nn_codes_call *call, const void *weights, fovea_error *error);

/* Reads `dims` dims of output `out`, from dim `dim` on, where a piece begins. */
void fovea_nn_read_codes(const fovea_nn_codes *codes, int64_t out, int64_t dim, int dims,
                         fovea_nn_codes_piece *piece);

/* Of words with zero points: the scale and the offset of a group. */
void fovea_nn_read_group(const fovea_nn_codes *codes, int64_t out, int64_t group, float *scale, float *offset);
/* Of words with zero points: the group of a dim, by g_idx. */
uint32_t fovea_nn_group_of(const fovea_nn_codes *codes, int64_t dim);

#endif
