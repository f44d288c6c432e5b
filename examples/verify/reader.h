/* One text that goes through a model of examples/llm, layer by layer, with the logits of every row. */
#ifndef VERIFY_READER_H
#define VERIFY_READER_H

#include "../llm/cache.h"

/* A caller's functions. Each may be NULL. */
struct observer {
  void *context;
  /* The rows at `position` and after it, as they leave a layer, if a multiple of `every` is among them. */
  int64_t every;
  void (*layer)(void *context, int64_t layer, int64_t position, int64_t rows, const float *hidden);
  /* What follows the row at `position`. False ends the reading. */
  bool (*logits)(void *context, int64_t position, const float *logits, struct failure *failure);
};

/* Only the model and the type of the cache change bits. A reader stays where it was opened. */
struct reader {
  const struct model *model;
  struct cache cache;
  struct observer observer;
  fovea_execution execution;
  int64_t position;   /* of the next token */
  int64_t chunk;      /* tokens that go through the layers at once, at most */
  int64_t logit_rows; /* of them, how many get logits at once */
  float *hidden, *logits;
};

bool reader_open(struct reader *reader, const struct model *model, enum cache_type cache, int64_t longest,
                 int64_t chunk, const fovea_execution *execution, struct failure *failure);
void reader_close(struct reader *reader);

/* Reads tokens, chunk by chunk. */
bool reader_read(struct reader *reader, const int32_t *tokens, int64_t count, struct failure *failure);

/* Forgets the text. */
bool reader_forget(struct reader *reader, struct failure *failure);

#endif
