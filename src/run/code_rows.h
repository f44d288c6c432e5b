/* Rows that are stored as codes of int8, for an arithmetic that takes them as they are. */
#ifndef FOVEA_SRC_RUN_CODE_ROWS_H
#define FOVEA_SRC_RUN_CODE_ROWS_H

#include "rows.h"

/* The keys or the values of a block. */
typedef struct fovea_code_side {
  const fovea_row_source *source;
  const fovea_arithmetic *arithmetic;
  int64_t base; /* position of the block's first key */
  float *room;  /* for the block's rows as f32 */
} fovea_code_side;

/* Bytes from row to row of codes in scratch. */
static inline int64_t fovea_code_stride(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

/* A scale as it is stored. NaN if numbers might have no room in f32; but negative ones of values are kept. */
float fovea_stored_scale(const fovea_kernels *kernels, const void *at, fovea_type type, int values);

/* Copies the block's rows `keys` as codes, fovea_code_stride() apart, the block's first key at `codes`, and their
 * scales. Rows that are not stored as codes get codes that the arithmetic makes. */
void fovea_gather_codes(const fovea_code_side *side, fovea_interval keys, int8_t *codes, float *scales);

/* If the arithmetic takes codes and one of the block's rows `keys` is stored as such, sets *args to codes and
 * scales of all of them, in place or at `room`, and returns 1. Other rows get codes of the arithmetic. */
int fovea_read_codes(const fovea_code_side *side, fovea_interval keys, int8_t *room, fovea_operand_args *args);

#endif
