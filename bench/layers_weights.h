/* How a linear layer may keep its weights, and multiply by them. */
#ifndef FOVEA_BENCH_LAYERS_WEIGHTS_H
#define FOVEA_BENCH_LAYERS_WEIGHTS_H

#include <fovea/weights.h>
#include <stddef.h>

typedef enum layer_kept {
  LAYER_PANELS,   /* of a type */
  LAYER_CODES,    /* packed from a format, by fovea_nn_pack_codes() */
  LAYER_QUANTISED /* made by fovea_nn_quantise() */
} layer_kept;

typedef struct layer_weights {
  const char *name; /* in the names of benchmarks */
  layer_kept kept;
  fovea_type type;        /* of panels */
  fovea_nn_format format; /* of codes */
  fovea_mode mode;
  int on_amx; /* AMX has such products: int8 mode's need 64 dims that share a scale */
} layer_weights;

/* All of them: panels of each type, codes of each format, then those with a mode. */
extern const layer_weights layer_weights_all[];
extern const int layer_weights_count;

/* The one of this name, which there must be. */
const layer_weights *layer_weights_named(const char *name);

/* Weights of a layer of `in` and `out`, as often as they are wanted: random numbers, the same in each copy. */
typedef struct layer_copies {
  const layer_weights *of;
  int64_t in, out;
  char *memory;
  size_t bytes, stride; /* of one copy; from copy to copy */
  int count;
} layer_copies;

/* Makes `count` copies, unless that is what `copies` holds; it frees what it held. Returns 0 without memory, or if Fovea
 * refuses. */
int layer_copies_take(layer_copies *copies, const layer_weights *of, int64_t in, int64_t out, int count);

/* The layer whose weights are copy `index`. */
fovea_nn_linear layer_of_copy(const layer_copies *copies, int index);

/* Bytes of the weights of a layer; 0 if Fovea refuses them. */
size_t layer_weights_bytes(const layer_weights *of, int64_t in, int64_t out);

#endif
