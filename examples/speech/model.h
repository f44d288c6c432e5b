/* A small encoder of speech with random weights: it stands for a trained one, which has the same cost. */
#ifndef SPEECH_MODEL_H
#define SPEECH_MODEL_H

#include "../stories/failure.h"

#include <fovea/nn.h>

enum { MODEL_DIM = 256, MODEL_HEADS = 4, MODEL_HIDDEN = 1024, MODEL_MOST_LAYERS = 24 };

/* Pre-norm, rotary positions, GELU. */
struct model_layer {
  fovea_nn_linear query, key, value, output, up, down;
  fovea_nn_norm norms[2];
  fovea_nn_attention attention;
  fovea_nn_block block;
};

struct model {
  int layers;
  fovea_nn_linear input; /* bands of a frame to MODEL_DIM */
  struct model_layer layer[MODEL_MOST_LAYERS];
  const fovea_nn_block *blocks[MODEL_MOST_LAYERS];
  fovea_rotary rotary;
  fovea_problem problem; /* the window, without lengths */
  const char *isa;       /* that runs are to be on */
  float *weights;        /* packed, of all layers */
};

/* Fills the model, which must not be moved. The weights depend on nothing but the layer. isa is NULL or a name. */
bool model_create(struct model *model, int layers, int64_t left, int64_t right, const char *isa,
                  struct failure *failure);
void model_free(struct model *model);

/* Frames of MEL_BANDS numbers to rows of MODEL_DIM. */
bool model_embed(const struct model *model, int64_t frames, const float *bands, float *rows,
                 const fovea_execution *execution, struct failure *failure);

/* All layers over all rows at once, in place. */
bool model_run_whole(const struct model *model, int64_t frames, float *rows, const fovea_execution *execution,
                     struct failure *failure);

#endif
