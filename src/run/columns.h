/* Column sums: for each key the weights of rows, added up in a phase of its own, when all rows are done. */
#ifndef FOVEA_SRC_RUN_COLUMNS_H
#define FOVEA_SRC_RUN_COLUMNS_H

#include <stdint.h>

/* A task of the phase: some keys of an entry, and all query heads of a kv head. */
void fovea_column_task(const void *run, int64_t number, int worker);

#endif
