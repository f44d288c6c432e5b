/* Reads the caller's structs into structs of this library's size. */
#ifndef FOVEA_NN_CALLER_H
#define FOVEA_NN_CALLER_H

#include <fovea/nn.h>

fovea_status fovea_nn_read_linear(const fovea_nn_linear *given, fovea_nn_linear *linear, fovea_error *error);
fovea_status fovea_nn_read_linear_rows(const fovea_nn_linear_rows *given, fovea_nn_linear_rows *rows,
                                       fovea_error *error);
fovea_status fovea_nn_read_map(const fovea_nn_map *given, fovea_nn_map *map, fovea_error *error);
fovea_status fovea_nn_read_norm(const fovea_nn_norm *given, fovea_nn_norm *norm, fovea_error *error);
fovea_status fovea_nn_read_norm_rows(const fovea_nn_norm_rows *given, fovea_nn_norm_rows *rows, fovea_error *error);

#endif
