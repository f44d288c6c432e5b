/* The matrices of a model of Llama's kind in a safetensors file, under the names that Hugging Face has for them:
 * numbers, or codes of 4 bits by GPTQ or AWQ. */
#ifndef LLM_CHECKPOINT_H
#define LLM_CHECKPOINT_H

#include "../minilm/safetensors.h"
#include "matrix.h"

struct checkpoint {
  struct safetensors file;
  bool *taken; /* of each tensor */
};

bool checkpoint_read(struct checkpoint *checkpoint, const char *path, struct failure *failure);
void checkpoint_free(struct checkpoint *checkpoint);

/* Whether there is a matrix of that name, as a GGUF file has it ("output"). */
bool checkpoint_has(const struct checkpoint *checkpoint, const char *name);

/* Finds the matrix of that name and shape (1 row: a vector). `layer` is -1 for what belongs to none. */
bool checkpoint_take(struct checkpoint *checkpoint, int64_t layer, const char *name, int64_t rows, int64_t columns,
                     struct matrix *matrix, struct failure *failure);

/* Refuses tensors that nobody took. */
bool checkpoint_check(const struct checkpoint *checkpoint, struct failure *failure);

#endif
