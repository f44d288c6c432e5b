/* A layer of multi-head latent attention that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_LATENT_H
#define FOVEA_NN_VARIANTS_LATENT_H

#include "../../arch/nn_kernels.h"

#include <fovea/latent_attention.h>

typedef struct fovea_nn_latent_call {
  fovea_nn_latent latent;
  fovea_nn_linear kv_b; /* a copy */
  fovea_nn_latent_tensors tensors;
  fovea_problem problem; /* the caller's */
  fovea_problem inner;   /* attention of the form, over scratch or caches */
  fovea_execution execution;
  int64_t rows;     /* of x */
  int64_t width;    /* of a cached row */
  int64_t segments; /* of all batch elements */
  int absorbed;     /* the form */
} fovea_nn_latent_call;

/* Reads and checks what the caller gave, but for what its steps check before they write; without tensors but their
 * segments if `sizes_only`. */
fovea_status fovea_nn_check_latent(const fovea_nn_latent *latent, const fovea_problem *problem,
                                   const fovea_nn_latent_tensors *tensors, const fovea_execution *execution,
                                   int sizes_only, fovea_nn_latent_call *call, fovea_error *error);

/* Elements of one head's part in the absorbed weights. */
int64_t fovea_nn_latent_key_elements(const fovea_nn_latent_call *call);
int64_t fovea_nn_latent_value_elements(const fovea_nn_latent_call *call);

/* A layer of the form for head 0. Expanded: what makes keys, or values, of latent rows. Absorbed: what makes queries
 * in the space of latent rows, or, with `values`, outputs of results in this space. */
fovea_nn_linear fovea_nn_latent_head_layer(const fovea_nn_latent_call *call, int values);

/* A linear layer for each head, or for each head of each batch element, in f32. */
typedef struct fovea_nn_head_layers {
  fovea_nn_linear linear; /* weights of head 0 */
  int64_t weight_head;    /* elements from head to head */
  int64_t heads, entries;
  const int64_t *entry_rows; /* NULL: `rows` each */
  int64_t rows;
  const float *x;
  float *y;
  int64_t x_row, x_head, x_entry, y_row, y_head, y_entry;
} fovea_nn_head_layers;

/* In scratch of the execution, as far as it reaches. */
void fovea_nn_run_head_layers(const fovea_nn_head_layers *layers, const fovea_execution *execution);
/* The bytes of scratch that the largest of all linear layers uses, layers of heads on so many workers. */
uint64_t fovea_nn_latent_layer_bytes(const fovea_nn_latent_call *call, int workers,
                                     const fovea_execution *execution);

/* Copies of the caller's segments in scratch: the segments that new rows go to, by K and, for the last element, V;
 * and the segments that are read, whose values are their keys. */
typedef struct fovea_nn_latent_segments {
  fovea_segment *written, *read;
  fovea_sequence *written_sequences, *read_sequences; /* one for each batch element */
} fovea_nn_latent_segments;

fovea_status fovea_nn_latent_segments_of(const fovea_nn_latent_call *call, fovea_nn_latent_segments *segments,
                                         fovea_error *error);

#endif
