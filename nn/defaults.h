/* Reads the caller's structs into structs of this library's size. */
#ifndef FOVEA_NN_DEFAULTS_H
#define FOVEA_NN_DEFAULTS_H

#include <fovea/embedding.h>
#include <fovea/nn.h>

#include <string.h>

/* Writes as many bytes of the defaults as the caller's struct has. */
static inline void fovea_nn_write_defaults(void *to, size_t struct_size, const void *defaults, size_t size) {
  memcpy(to, defaults, struct_size < size ? struct_size : size);
}

/* Copies a caller's struct, whose first field is struct_size, into one of `size` bytes. Refuses NULL and other
 * sizes.
 */
fovea_status fovea_nn_read_struct(const char *name, const void *given, void *copy, size_t size, fovea_error *error);

fovea_status fovea_nn_read_linear(const char *name, const fovea_nn_linear *given, fovea_nn_linear *linear,
                                  fovea_error *error);
/* Rows of a layer that was read. */
fovea_status fovea_nn_read_linear_rows(const fovea_nn_linear_rows *given, const fovea_nn_linear *linear,
                                       fovea_nn_linear_rows *rows, fovea_error *error);
fovea_status fovea_nn_read_map(const fovea_nn_map *given, fovea_nn_map *map, fovea_error *error);
fovea_status fovea_nn_read_norm(const char *name, const fovea_nn_norm *given, fovea_nn_norm *norm,
                                fovea_error *error);
/* Rows of a norm of `dim`. */
fovea_status fovea_nn_read_norm_rows(const fovea_nn_norm_rows *given, int64_t dim, fovea_nn_norm_rows *rows,
                                     fovea_error *error);

fovea_status fovea_nn_read_attention(const char *name, const fovea_nn_attention *given,
                                     fovea_nn_attention *attention, fovea_error *error);
fovea_status fovea_nn_read_attention_tensors(const fovea_nn_attention_tensors *given,
                                             fovea_nn_attention_tensors *tensors, fovea_error *error);

fovea_status fovea_nn_read_embedding(const fovea_nn_embedding *given, fovea_nn_embedding *embedding,
                                     fovea_error *error);
fovea_status fovea_nn_read_block(const fovea_nn_block *given, fovea_nn_block *block, fovea_error *error);

#endif
