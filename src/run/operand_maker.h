/* Chooses how the halves of a problem make operands. */
#ifndef FOVEA_SRC_RUN_OPERAND_MAKER_H
#define FOVEA_SRC_RUN_OPERAND_MAKER_H

#include "operands.h"

/* It points into the context. */
fovea_operand_maker fovea_operand_maker_of(const fovea_task_context *context);

#endif
