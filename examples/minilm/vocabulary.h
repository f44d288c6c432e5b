/* The tokens of a model, one a line (vocab.txt). A token's number is the number of its line, from 0 on. */
#ifndef MINILM_VOCABULARY_H
#define MINILM_VOCABULARY_H

#include "../stories/file.h"

#include <stdint.h>

enum { VOCABULARY_LIMIT = 1 << 20, TOKEN_LENGTH_LIMIT = 400 };

struct token {
  const char *text; /* not terminated */
  int32_t length, number;
};

struct vocabulary {
  struct file file;
  int32_t count;
  struct token *tokens;        /* by number */
  struct token *sorted;        /* by text */
  int32_t unknown, begin, end; /* [UNK], [CLS] and [SEP], which it must have */
};

/* Refused: an empty line, malformed UTF-8, a 0 byte, a token twice, more tokens or bytes of a token than the
 * limits. Lines end with \n or \r\n; the last one may lack it. */
bool vocabulary_read(struct vocabulary *vocabulary, const char *path, struct failure *failure);
void vocabulary_free(struct vocabulary *vocabulary);

/* The number of a token; -1 if there is none with that text. */
int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t length);

#endif
