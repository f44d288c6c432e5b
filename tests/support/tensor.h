/* A four-dimensional f32 tensor in guarded memory that holds exactly the elements which its strides span. */
#ifndef FOVEA_TESTS_TENSOR_H
#define FOVEA_TESTS_TENSOR_H

#include "generator.h"
#include "guarded.h"

#include <fovea/fovea.h>

struct tensor {
  int64_t batch, heads, rows, dim;
  fovea_strides strides;
  float *data; /* the element with all indices 0 */
  struct guarded memory;
};

void tensor_create(struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                   fovea_strides strides, enum guarded_edge edge);
void tensor_destroy(struct tensor *tensor);

/* The `dim` numbers of one row. */
float *tensor_row(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row);

/* Fill in the order of the indices, so that layouts do not change what a tensor holds. */
void tensor_fill_random(struct tensor *tensor, uint64_t seed, float gain);
void tensor_fill_constant(struct tensor *tensor, float value);
/* A bit pattern that no kernel writes (a NaN with a payload), in the gaps between rows too. */
void tensor_fill_untouched(struct tensor *tensor);

/* Fills `to` from the part of `from` that begins at these indices. */
void tensor_copy_part(struct tensor *to, const struct tensor *from, int64_t batch, int64_t head, int64_t row);

/* Whether every byte of the memory, gaps included, is as tensor_fill_untouched() left it. */
int tensor_is_untouched(const struct tensor *tensor);
/* Whether the memory outside the elements is as tensor_fill_untouched() left it. */
int tensor_gaps_untouched(const struct tensor *tensor);

#endif
