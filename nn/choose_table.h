/* Which kernel table a call runs on. */
#ifndef FOVEA_NN_CHOOSE_TABLE_H
#define FOVEA_NN_CHOOSE_TABLE_H

#include "../arch/nn_kernels.h"

/* The table of the instruction set that Fovea takes for a problem with this `isa`; NULL: its default. */
fovea_status fovea_nn_dispatch(const char *isa, const fovea_nn_kernels **kernels, fovea_error *error);

/* Reads an execution of layers, and refuses an isa that does not exist, before it is an error of one of the layers. */
fovea_status fovea_nn_read_execution(const fovea_execution *given, fovea_execution *execution, fovea_error *error);

/* The products of pairs of bf16 that Fovea takes for Q and K of bf16 with this `isa`; NULL: none. */
fovea_status fovea_nn_dispatch_pairs(const char *isa, const fovea_nn_pair_kernels **pairs, fovea_error *error);

/* The products of bf16 mode for so many rows, beside the table of this `isa`: AMX's if it may be used. */
const fovea_nn_bf16_kernels *fovea_nn_choose_bf16(const fovea_nn_kernels *kernels, const char *isa, int64_t rows);

/* The products of codes for so many rows with weights of this group (nn/quantised.h): AMX's if it may be used. Refused in
 * builds without int8 mode. */
fovea_status fovea_nn_choose_int8(const char *isa, int group, int64_t rows, const fovea_nn_int8_kernels **kernels,
                                  fovea_error *error);

/* The products of codes of the table of this `isa`. Refused in builds without int8 mode. */
fovea_status fovea_nn_dispatch_int8(const char *isa, const fovea_nn_int8_kernels **kernels, fovea_error *error);

#endif
