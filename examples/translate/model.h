/* The weights of the translator, as layers of fovea_nn. Matrices stay F16, as the file has them. */
#ifndef TRANSLATE_MODEL_H
#define TRANSLATE_MODEL_H

#include "../minilm/safetensors.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>
#include <fovea/recurrent.h>

enum { FORWARD, BACKWARD, DIRECTIONS };

/* Layers point at each other: a model stays where it was read. */
struct model {
  struct safetensors file;
  int64_t embedded, state, aligned, fed; /* sizes of a letter, a state, a projected state, a symbol */

  fovea_nn_embedding letters, symbols;
  fovea_nn_linear reader_input[DIRECTIONS], reader_hidden[DIRECTIONS];
  fovea_nn_cell reader[DIRECTIONS]; /* without `input`: all letters are projected at once */
  fovea_nn_linear writer_input, writer_hidden;
  fovea_nn_cell writer;
  fovea_nn_linear query, key;
  fovea_nn_additive alignment; /* without `key`: keys are projected once for all steps */
  fovea_nn_linear answer;
  const char *isa; /* that it runs on; NULL: the best */
};

/* Reads the tensors that train.py writes, for one instruction set (NULL: the best). `path` and `isa` are kept. */
bool model_read(struct model *model, const char *path, const char *isa, struct failure *failure);
void model_free(struct model *model);

#endif
