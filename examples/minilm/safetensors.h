/* A file of tensors in the format safetensors (huggingface/safetensors): 8 bytes with the length of a header, the
 * header, which is JSON with each tensor's type, shape and place, and the data, little-endian as this machine is.
 */
#ifndef MINILM_SAFETENSORS_H
#define MINILM_SAFETENSORS_H

#include "../stories/file.h"

#include <fovea/fovea.h>

enum { TENSOR_RANK_LIMIT = 8 };

struct stored_tensor {
  const char *name;
  const char *type; /* as in the file: "F32", "BF16", ... */
  int rank;
  int64_t shape[TENSOR_RANK_LIMIT];
  int64_t begin, end; /* bytes of the data */
};

struct safetensors {
  struct file file;
  const char *path;
  const char *data;
  int64_t data_size;
  char *names;                   /* of all tensors */
  struct stored_tensor *tensors; /* in the order of their names */
  size_t count;
};

/* Reads a file and checks all of its header. Refused: a header that is not of this form, a name twice, a type that
 * the format does not have, a size that shape and type do not give, tensors that overlap, leave a gap or do not end
 * where the file does. `path` is kept. */
bool safetensors_read(struct safetensors *tensors, const char *path, struct failure *failure);
void safetensors_free(struct safetensors *tensors);

/* NULL if there is none. */
const struct stored_tensor *safetensors_find(const struct safetensors *tensors, const char *name);

/* Numbers in memory. */
struct numbers {
  const void *data;
  fovea_type type;
};

/* Finds a tensor that must have this shape (`columns` is 0 for a vector), and be F32, F16 or BF16. */
bool safetensors_take(const struct safetensors *tensors, const char *name, int64_t rows, int64_t columns,
                      struct numbers *numbers, struct failure *failure);

#endif
