/* Rows that are stored as codes of int8, for an arithmetic that takes them as they are. */
#ifndef FOVEA_SRC_RUN_CODE_ROWS_H
#define FOVEA_SRC_RUN_CODE_ROWS_H

#include "rows.h"

/* The keys or the values of a task. */
typedef struct fovea_code_side {
  const fovea_task_context *context;
  const fovea_arithmetic *arithmetic;
  fovea_find_run *find;
  int64_t dim;
  int values;
  float *room; /* for a block's rows as f32 */
} fovea_code_side;

/* If the arithmetic takes codes and one of the block's rows `keys` is stored as such, sets *args to codes and
 * scales of all of them, in place or in scratch, and returns 1. Other rows get the codes that the arithmetic makes.
 */
int fovea_read_codes(const fovea_code_side *side, fovea_interval keys, fovea_operand_args *args);

#endif
