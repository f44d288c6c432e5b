/* The scratch of encoder and decoder layers. */
#ifndef FOVEA_NN_BLOCK_H
#define FOVEA_NN_BLOCK_H

#include <fovea/nn.h>

/* As fovea_nn_block_scratch_size(); workers is at least 1. Plans that it makes are in `memory` if that is not NULL.
 * 0 if the layer is refused, with an error. */
size_t fovea_nn_block_bytes(const fovea_nn_block *block, const fovea_nn_attending *self,
                            const fovea_nn_attending *cross, int workers, void *memory, size_t size,
                            fovea_error *error);

#endif
