/* Byte pair encoding by a list of merges, as GPT-2 has it: the tokenizer "gpt2" of GGUF files. */
#ifndef LLM_BPE_H
#define LLM_BPE_H

#include "../stories/tokenizer.h"
#include "gguf.h"

/* Two neighbours that become one token. */
struct merge {
  int32_t left, right, merged;
  int32_t rank; /* lower: merged earlier */
};

struct bpe {
  struct merge *merges; /* in the order of left and right */
  int64_t count;
  int32_t byte_tokens[256]; /* -1: none */
};

/* Writes the bytes that stand for a token's text in the file, which writes bytes that are no printable ASCII as other
 * characters; returns the byte after them. */
char *bpe_copy_text(struct gguf_text from, char *to);

/* Reads the merges, for tokens that are there and sorted. */
bool bpe_read(struct bpe *bpe, const struct tokenizer *tokenizer, const struct gguf *gguf, struct failure *failure);
void bpe_free(struct bpe *bpe);

/* Appends the tokens of a text of so many bytes to `tokens`, at most one for each byte. */
bool bpe_encode(const struct bpe *bpe, const char *text, size_t length, int32_t *tokens, int64_t *count,
                struct failure *failure);

#endif
