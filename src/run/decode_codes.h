/* Decoding in int8: the rows of a block as codes and scales. */
#ifndef FOVEA_SRC_RUN_DECODE_CODES_H
#define FOVEA_SRC_RUN_DECODE_CODES_H

#include "rows.h"

/* Of the current block: in place, if `list` has codes that lie so, else in scratch. */
void fovea_list_codes(const fovea_task_context *context, const fovea_row_list *list, int values,
                      fovea_code_list *codes);

#endif
