/* Column sums: for each key the weights of rows, added up in a phase of its own, when all rows are done. */
#ifndef FOVEA_SRC_RUN_COLUMNS_H
#define FOVEA_SRC_RUN_COLUMNS_H

#include "task.h"

/* Keeps what a tile's rows have in place of maximum and sum for that phase. */
void fovea_keep_row_weights(const fovea_task_context *context, const fovea_tile *t, const float *references,
                            const float *inverses);

/* A task of the phase: some keys of an entry, and all query heads of a kv head. */
void fovea_column_task(const void *run, int64_t number, int worker);

#endif
