/* From letters to symbols: a reader in both directions, and a writer that attends to what was read. */
#ifndef TRANSLATE_TRANSLATOR_H
#define TRANSLATE_TRANSLATOR_H

#include "model.h"
#include "text.h"

struct translation {
  struct letters letters;
  int64_t steps; /* the step that writes the end is among them, unless there is no end */
  float logits[STEPS_LIMIT][SYMBOL_COUNT];
  float weights[STEPS_LIMIT][LETTERS_LIMIT]; /* the alignment: what each step looks at */
  char answer[STEPS_LIMIT + 1];              /* without the end */
};

/* Translates a text, always by the likeliest symbol. Nothing but the model and the text changes a bit of the
 * numbers. Without a date as its answer it still is a translation: is_date() tells. */
bool translate(const struct model *model, const char *text, int threads, struct translation *translation,
               struct failure *failure);

#endif
