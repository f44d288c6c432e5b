/* Longformer: what is compiled for a batch, and a call that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_LONGFORMER_H
#define FOVEA_NN_VARIANTS_LONGFORMER_H

#include <fovea/sparse_attention.h>

struct fovea_nn_longformer {
  fovea_nn_longformer_options options; /* without states */
  fovea_allocator allocator;           /* of the object, its lists, patterns and plans */
  int64_t global_count;                /* of all batch elements */
  int64_t *lengths;                    /* of each batch element, up to its last token that is no padding */
  int32_t *starts;                     /* batch + 1: where each one's global tokens begin in `rows` */
  int64_t *rows;                       /* of global tokens, counted over all batch elements */
  /* Of each batch element; batch elements with the same tokens share the objects of the first. NULL: the problem
   * has the rule. */
  fovea_pattern **local_patterns;
  fovea_pattern **global_patterns; /* of batch elements with padding between tokens, else NULL */
  int64_t *firsts;                 /* of each batch element: the first with the same tokens */
  fovea_plan *local, *global;      /* global: NULL if there is no global token */
};

/* The layers as they are used: the lists of global tokens, too. */
enum {
  FOVEA_NN_LONGFORMER_QUERY,
  FOVEA_NN_LONGFORMER_KEY,
  FOVEA_NN_LONGFORMER_VALUE,
  FOVEA_NN_LONGFORMER_GLOBAL_QUERY,
  FOVEA_NN_LONGFORMER_GLOBAL_KEY,
  FOVEA_NN_LONGFORMER_GLOBAL_VALUE,
  FOVEA_NN_LONGFORMER_OUTPUT, /* may be NULL */
  FOVEA_NN_LONGFORMER_LAYERS
};

typedef struct fovea_nn_longformer_call {
  const fovea_nn_longformer *longformer;
  const fovea_nn_linear *layers[FOVEA_NN_LONGFORMER_LAYERS];
  int64_t in; /* of all layers but the output */
  fovea_nn_longformer_rows rows;
  fovea_execution execution;
} fovea_nn_longformer_call;

/* Whether row j of a batch element is a token, and not padding between or after tokens. */
static inline int fovea_nn_longformer_is_token(const int8_t *states, int64_t j) {
  return !states || states[j] != FOVEA_NN_TOKEN_PADDING;
}

fovea_status fovea_nn_check_longformer_options(const fovea_nn_longformer_options *given,
                                               fovea_nn_longformer_options *options, fovea_error *error);

fovea_status fovea_nn_check_longformer(const fovea_nn_longformer *longformer,
                                       const fovea_nn_longformer_layer *layer, const fovea_nn_longformer_rows *rows,
                                       const fovea_execution *execution, fovea_nn_longformer_call *call,
                                       fovea_error *error);

#endif
