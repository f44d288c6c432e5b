/* Norms, for what is made of them. */
#ifndef FOVEA_NN_NORM_H
#define FOVEA_NN_NORM_H

#include <fovea/nn.h>

/* Checks a norm that is part of something, with its instruction set. `name` is its own there. */
fovea_status fovea_nn_check_norm(const char *name, const fovea_nn_norm *norm, fovea_error *error);

#endif
