/* Layers of a transformer, as stacks of them see them. */
#ifndef FOVEA_NN_BLOCK_H
#define FOVEA_NN_BLOCK_H

#include <fovea/nn.h>

/* Completes and checks a problem, and sets the rows that it has. */
fovea_status fovea_nn_count_rows(const fovea_problem *given, fovea_problem *problem, int64_t *rows,
                                 fovea_error *error);

/* Makes the checks of fovea_nn_block_run(), and returns its bytes of scratch; 0 if it would be refused. Plans are
 * made in `memory` if it is not NULL. */
size_t fovea_nn_block_bytes(const fovea_nn_block *block, const fovea_nn_attending *self,
                            const fovea_nn_attending *cross, int workers, void *memory, size_t size,
                            fovea_error *error);

#endif
