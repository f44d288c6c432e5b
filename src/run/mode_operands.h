/* The halves of a problem whose operands an arithmetic makes, arch/arithmetic.h. */
#ifndef FOVEA_SRC_RUN_MODE_OPERANDS_H
#define FOVEA_SRC_RUN_MODE_OPERANDS_H

#include "operands.h"

extern const fovea_score_half fovea_mode_scores;
extern const fovea_value_half fovea_mode_values;

/* Sets block->values, if the arithmetic has read the values as they lie. */
void fovea_widen_values(const fovea_operand_maker *maker, fovea_block_rows *block);

#endif
