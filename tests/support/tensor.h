/* A four-dimensional tensor in guarded memory that holds exactly the elements that its strides span. Tests read and
 * write its numbers as f32. f16 and bf16 tensors are stored beside these numbers, with the same strides. */
#ifndef FOVEA_TESTS_TENSOR_H
#define FOVEA_TESTS_TENSOR_H

#include "generator.h"
#include "guarded.h"
#include "types.h"

struct tensor {
  int64_t batch, heads, rows, dim;
  fovea_strides strides;
  float *data; /* the element with all indices 0 */
  struct guarded memory;
  fovea_type type;
  uint16_t *stored; /* of f16 and bf16: the element with all indices 0 */
  struct guarded storage;
};

void tensor_create(struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                   fovea_strides strides, enum guarded_edge edge);
void tensor_create_of(fovea_type type, struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows,
                      int64_t dim, fovea_strides strides, enum guarded_edge edge);
void tensor_destroy(struct tensor *tensor);

/* The `dim` numbers of one row. */
float *tensor_row(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row);

/* The pointer for the library: the stored element with all indices 0. */
void *tensor_pointer(const struct tensor *tensor);
/* Copy numbers to the stored elements, and back; nothing to do for f32. The type must be able to hold the numbers.
 */
void tensor_store(const struct tensor *tensor);
void tensor_load(const struct tensor *tensor);
/* After this, a write to the stored elements ends the test. */
void tensor_make_read_only(struct tensor *tensor);

/* Fill in the order of the indices, so that a tensor holds the same in any layout. Random numbers are rounded to
 * the type. */
void tensor_fill_random(struct tensor *tensor, uint64_t seed, float gain);
void tensor_fill_constant(struct tensor *tensor, float value);
/* Stores a bit pattern that no kernel writes (a NaN with a payload), also in the gaps between rows. */
void tensor_fill_untouched(struct tensor *tensor);

/* Fills `to` from the part of `from` that begins at these indices, rounded to the type. */
void tensor_copy_part(struct tensor *to, const struct tensor *from, int64_t batch, int64_t head, int64_t row);

/* Whether every stored byte, gaps included, is as tensor_fill_untouched() left it. */
int tensor_is_untouched(const struct tensor *tensor);
/* Whether the memory outside the elements is as tensor_fill_untouched() left it. */
int tensor_gaps_untouched(const struct tensor *tensor);

#endif
