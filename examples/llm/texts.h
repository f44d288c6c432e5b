/* The prompts of a command line as texts of an engine. */
#ifndef LLM_TEXTS_H
#define LLM_TEXTS_H

#include "engine.h"
#include "options.h"
#include "vocabulary.h"

struct texts {
  struct text *text;
  int64_t count, longest; /* tokens of the longest, with what follows */
};

/* Encodes the prompts. A text ends where the model's context ends; a prompt that is longer is refused. */
bool texts_create(struct texts *texts, const struct options *options, const struct model *model,
                  const struct vocabulary *vocabulary, struct failure *failure);
void texts_free(struct texts *texts);

/* Takes away what followed the prompts. Text i has a generator with the seed + i. */
void texts_begin(struct texts *texts, uint64_t seed);

/* A digest of the logits of all texts, one text after the other, in whatever order they were computed. */
uint64_t texts_digest(const struct texts *texts);

/* Does all of it again with each number of threads, batch, chunk and instruction set, and prints one line that says
 * in how many ways, or which way had other bits. False if a way was refused; *same: all had the same bits. */
bool texts_check(struct texts *texts, const struct options *options, const struct model *model, bool *same,
                 struct failure *failure);

#endif
