/* Text to tokens and back: byte pair encoding by the scores of a tokenizer file of llama2.c. */
#ifndef STORIES_TOKENIZER_H
#define STORIES_TOKENIZER_H

#include "file.h"

#include <stdint.h>

/* Tokens with a meaning of their own; the tokens of the 256 bytes follow. */
enum { TOKEN_UNKNOWN = 0, TOKEN_BEGIN = 1, TOKEN_END = 2, TOKEN_FIRST_BYTE = 3 };

struct token {
  const char *text; /* `length` bytes, without a zero after them */
  int32_t length, number;
  float score; /* higher: merged earlier */
};

struct tokenizer {
  int32_t count;
  struct token *tokens; /* by number */
  struct token *sorted; /* by text */
  struct file file;     /* where the texts lie */
};

bool tokenizer_read(struct tokenizer *tokenizer, const char *path, int64_t vocabulary, struct failure *failure);

/* The two halves of it, for tokens from elsewhere: room for `vocabulary` tokens, which the caller fills, with texts in
 * memory at `file.bytes`; then the order of their texts. `path` is for a refusal. */
bool tokenizer_create(struct tokenizer *tokenizer, const char *path, int64_t vocabulary, struct failure *failure);
void tokenizer_sort(struct tokenizer *tokenizer);

void tokenizer_free(struct tokenizer *tokenizer);

/* The first token with that text; NULL if there is none. */
const struct token *tokenizer_find(const struct tokenizer *tokenizer, const char *text, int32_t length);

/* TOKEN_BEGIN and the tokens of a text. free() the result. */
bool tokenizer_encode(const struct tokenizer *tokenizer, const char *text, int32_t **tokens, int64_t *count,
                      struct failure *failure);

/* Writes at most `size` bytes of a token's text after another token, and returns how many. */
size_t tokenizer_decode(const struct tokenizer *tokenizer, int32_t before, int32_t token, char *bytes, size_t size);

/* Prints a token's text after another token, without control characters that could disturb a terminal. */
void tokenizer_print(const struct tokenizer *tokenizer, int32_t before, int32_t token);

#endif
