/* Texts through the model: from tokens to a vector of length 1 for each text. A vector has the same bits whatever
 * texts are in the batch, and for any number of threads. */
#ifndef MINILM_ENCODER_H
#define MINILM_ENCODER_H

#include "model.h"
#include "wordpiece.h"

/* Texts one after another, without padding. */
struct batch {
  int64_t count, texts_room; /* texts */
  int64_t rows;              /* tokens of all texts */
  int32_t *tokens, *types;   /* of each row; all types are 0 */
  int32_t *ends;             /* text i is rows ends[i] to ends[i + 1] - 1 */
  int64_t cut;               /* how many texts were longer than TOKENS_LIMIT */
  void *memory;              /* of encoder_vectors(), kept for the texts that follow */
  size_t memory_size;
};

/* Makes an empty batch with room for so many texts. */
bool batch_create(struct batch *batch, int64_t texts_room, struct failure *failure);
void batch_free(struct batch *batch);
void batch_clear(struct batch *batch);

/* Adds a text, for which there must be room. */
void batch_add(struct batch *batch, const struct vocabulary *vocabulary, const char *text, size_t length);

/* Writes (texts, dim) numbers. threads 0: as many as there are CPUs. */
bool encoder_vectors(const struct model *model, struct batch *batch, int threads, float *vectors,
                     struct failure *failure);

/* Writes what each token of text 0 attends to in a layer and head: (rows, rows) numbers, each row adds up to 1. The
 * batch has one text. */
bool encoder_attention(const struct model *model, const struct batch *batch, int threads, int64_t layer,
                       int64_t head, float *weights, struct failure *failure);

#endif
