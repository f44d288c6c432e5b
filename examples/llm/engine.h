/* Texts that a model reads and continues, several at a time: a step takes the next tokens of each. */
#ifndef LLM_ENGINE_H
#define LLM_ENGINE_H

#include "../stories/chances.h"
#include "cache.h"

struct text {
  int32_t *tokens;    /* with room for all */
  int64_t prompt;     /* tokens of the prompt, at least 1 */
  int64_t count;      /* of tokens so far */
  int64_t room;       /* above `prompt` */
  int64_t read;       /* tokens whose keys and values are in the cache */
  bool endless;       /* only its room ends it */
  bool ended;         /* by a token that ends texts, or by its room */
  uint64_t generator; /* of its own, so that other texts do not change it; see chances.h */
  int64_t rows;       /* of logits so far: after the prompt and after each token */
  uint64_t digest;    /* of these logits, see digest.h, if the engine makes digests */
  float *logits;      /* these logits; NULL: not kept */
};

/* Only `cache` and `temperature` change bits. */
struct engine_options {
  enum cache_type cache;
  int64_t page_rows;  /* positions of a page */
  int64_t batch;      /* texts at a time, at most */
  int64_t chunk;      /* tokens of a text that a step takes, at most */
  int64_t longest;    /* tokens of the longest text */
  double temperature; /* 0: the likeliest token */
  bool has_digests;   /* of logits */
  fovea_execution execution;
};

/* A cache stays where it was created, and so does an engine. */
struct engine {
  const struct model *model;
  struct engine_options options;
  struct cache cache;

  struct text **slots;           /* the texts that are read now */
  int64_t count;                 /* of them */
  int64_t stepped;               /* how many texts the latest step had */
  int64_t *lens, *ends;          /* of each slot: positions before and after a step */
  int32_t *begins;               /* of each slot: its first row of a step; one more for the end */
  float *hidden, *last, *logits; /* rows of a step; of each slot, its last row, and what follows it */
  struct chances chances;        /* of the tokens that may follow one row */
};

bool engine_open(struct engine *engine, const struct model *model, const struct engine_options *options,
                 struct failure *failure);
void engine_close(struct engine *engine);

/* Takes texts that nobody has begun to read into free slots, reads up to `chunk` tokens of each, and appends a token to
 * each that has no more. *rows: how many tokens that were; 0: all texts have ended. */
bool engine_step(struct engine *engine, struct text *texts, int64_t count, int64_t *rows, struct failure *failure);

#endif
