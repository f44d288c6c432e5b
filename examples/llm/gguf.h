/* A file of metadata and tensors in the format GGUF, version 2 or 3 (ggml-org/ggml): values by names, then the names,
 * shapes and places of tensors, then their data, little-endian as this machine is. */
#ifndef LLM_GGUF_H
#define LLM_GGUF_H

#include "../stories/file.h"
#include "matrix.h"

#include <stdint.h>

/* A string of the file, without a zero after it. */
struct gguf_text {
  const char *bytes;
  size_t length;
};

/* Types of values, by the numbers of the format. */
enum gguf_value_type { GGUF_INT32 = 5, GGUF_FLOAT32 = 6, GGUF_BOOL = 7, GGUF_STRING = 8, GGUF_ARRAY = 9 };

struct gguf_value {
  struct gguf_text name;
  uint32_t type; /* of the value; of an array: of its items */
  bool is_array;
  uint64_t count;   /* of items; 1 of what is no array */
  const char *data; /* of the first item */
};

struct gguf_tensor {
  struct gguf_text name;
  uint32_t type;        /* by the numbers of the format */
  struct matrix matrix; /* of a vector: 1 row */
  bool taken;
};

struct gguf {
  struct file file;
  const char *path;
  struct gguf_value *values;
  struct gguf_tensor *tensors;
  uint64_t value_count, tensor_count;
};

/* Reads a file and checks all of it: whatever ends too early, has another form, a type of tensor that is not read, or
 * data outside the file is refused with a line that names it. `path` is kept. */
bool gguf_read(struct gguf *gguf, const char *path, struct failure *failure);
void gguf_free(struct gguf *gguf);

/* NULL if there is none. */
const struct gguf_value *gguf_find(const struct gguf *gguf, const char *name);

/* A whole number from `least` to `most`. If there is none of that name it is `missing`, unless that is below `least`:
 * then it is needed. */
bool gguf_whole(const struct gguf *gguf, const char *name, int64_t least, int64_t most, int64_t missing,
                int64_t *value, struct failure *failure);

/* A finite number of 32 bits, from `least` on; `missing` as in gguf_whole(). */
bool gguf_number(const struct gguf *gguf, const char *name, double least, double missing, double *value,
                 struct failure *failure);

/* An array of items of that type. */
bool gguf_array(const struct gguf *gguf, const char *name, enum gguf_value_type type,
                const struct gguf_value **value, struct failure *failure);

/* Whether a value is this string. */
bool gguf_is(const struct gguf_value *value, const char *text);

/* The string at *at; *at then is where the next one begins. */
struct gguf_text gguf_next_text(const char **at);

/* Finds the tensor of that name and shape (1 row: a vector), and marks it as taken. */
bool gguf_take(struct gguf *gguf, const char *name, int64_t rows, int64_t columns, struct matrix *matrix,
               struct failure *failure);

bool gguf_has_tensor(const struct gguf *gguf, const char *name);

#endif
