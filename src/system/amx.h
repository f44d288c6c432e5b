/* AMX is used only if the caller allows it: on Linux a process must ask for it, and its signal frames grow by 8 KB. */
#ifndef FOVEA_SRC_SYSTEM_AMX_H
#define FOVEA_SRC_SYSTEM_AMX_H

#include "../../arch/kernels.h"

/* The products of bf16 for a table: those of AMX, if it is allowed and shares the table's tiles, or the table's. */
typedef struct fovea_products {
  void (*score)(const fovea_score_args *args);
  void (*value)(const fovea_value_args *args);
} fovea_products;

fovea_products fovea_products_of(const fovea_kernels *kernels, int isa_named);

#endif
