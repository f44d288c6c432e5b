/* Reads the caller's structs into structs of this library's size. */
#ifndef FOVEA_NN_DEFAULTS_H
#define FOVEA_NN_DEFAULTS_H

#include <fovea/nn.h>

/* Checks struct_size against the sizes of the first and of this version of a struct. */
fovea_status fovea_nn_check_size(const char *name, size_t given, size_t first, size_t known, fovea_error *error);

/* Checks that an allocator has both functions or none. */
fovea_status fovea_nn_check_allocator(const fovea_allocator *allocator, fovea_error *error);

fovea_status fovea_nn_read_linear(const fovea_nn_linear *given, fovea_nn_linear *linear, fovea_error *error);
/* Rows of a layer that was read. */
fovea_status fovea_nn_read_linear_rows(const fovea_nn_linear_rows *given, const fovea_nn_linear *linear,
                                       fovea_nn_linear_rows *rows, fovea_error *error);
fovea_status fovea_nn_read_map(const fovea_nn_map *given, fovea_nn_map *map, fovea_error *error);
fovea_status fovea_nn_read_norm(const fovea_nn_norm *given, fovea_nn_norm *norm, fovea_error *error);
/* Rows of a norm of `dim`. */
fovea_status fovea_nn_read_norm_rows(const fovea_nn_norm_rows *given, int64_t dim, fovea_nn_norm_rows *rows,
                                     fovea_error *error);

fovea_status fovea_nn_read_attention(const fovea_nn_attention *given, fovea_nn_attention *attention,
                                     fovea_error *error);
fovea_status fovea_nn_read_attention_tensors(const fovea_nn_attention_tensors *given,
                                             fovea_nn_attention_tensors *tensors, fovea_error *error);

fovea_status fovea_nn_read_embedding(const fovea_nn_embedding *given, fovea_nn_embedding *embedding,
                                     fovea_error *error);
fovea_status fovea_nn_read_block(const fovea_nn_block *given, fovea_nn_block *block, fovea_error *error);

#endif
