/* NumPy's .npy files: one array in a file, little-endian, in C order. Versions 1.0, 2.0 and 3.0 are read, 1.0 is
 * written. Uses only the C library, so that any program of the project can compile npy.c into itself. */
#ifndef FOVEA_TOOLS_NPY_H
#define FOVEA_TOOLS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_MAX_RANK 8

/* The element types that can be read and written. NPY_U16 holds raw 16-bit patterns, since NumPy has no
 * bfloat16. */
typedef enum npy_type { NPY_F32, NPY_F16, NPY_BOOL, NPY_U16, NPY_I32, NPY_I64 } npy_type;

/* A set of types is a sum of NPY_SET()s. */
#define NPY_SET(type) (1u << (type))

size_t npy_type_size(npy_type type);

typedef struct npy_array {
  npy_type type;
  int rank; /* 0 to NPY_MAX_RANK */
  int64_t shape[NPY_MAX_RANK];
  int64_t count; /* elements; 0 if an axis has length 0 */
  void *data;    /* never NULL after a load, not even if count is 0 */
} npy_array;

/* Reads a whole file of float32. On failure returns false, leaves nothing to free, and writes one line to `error`
 * that begins with the path and, where the meaning stays the same, says how to convert. If a header promises more
 * than the file holds, never allocates much more than the file's size. */
bool npy_load(const char *path, npy_array *array, char *error, size_t error_size);

/* The same for a file of any type of the set. */
bool npy_load_any(const char *path, unsigned types, npy_array *array, char *error, size_t error_size);

/* Frees what npy_load() allocated; an array of all zero bytes is allowed. */
void npy_free(npy_array *array);

/* Writes an array at the stream's position. Returns false if the stream takes no more; errno then says why. */
bool npy_write(FILE *stream, npy_type type, int rank, const int64_t *shape, const void *data);

#endif
