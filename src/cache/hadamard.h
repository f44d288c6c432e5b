/* Rotation by the Walsh-Hadamard matrix. */
#ifndef FOVEA_SRC_CACHE_HADAMARD_H
#define FOVEA_SRC_CACHE_HADAMARD_H

#include <fovea/fovea.h>

/* Checks the blocks of rows of `dim` elements; 0 is none. */
fovea_status fovea_check_hadamard(const char *name, int64_t block, int64_t dim, fovea_error *error);

#endif
