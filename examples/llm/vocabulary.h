/* The tokens of a GGUF file, by the tokenizer of examples/stories or by byte pair encoding. */
#ifndef LLM_VOCABULARY_H
#define LLM_VOCABULARY_H

#include "bpe.h"

struct vocabulary {
  struct tokenizer tokenizer;
  bool has_merges; /* else it has scores, as SentencePiece */
  bool has_begin;  /* texts begin with TOKEN_BEGIN */
  struct bpe bpe;  /* with merges, as what follows */
  int32_t *marks;  /* tokens with a meaning of their own, which a prompt may name: <|im_start|> */
  int32_t mark_count;
};

/* Takes two kinds of tokens: "llama", SentencePiece's with scores, whose first tokens are those of Llama's: unknown,
 * begin, end, 256 bytes; and "gpt2" with the words of "smollm". Others are refused. */
bool vocabulary_read(struct vocabulary *vocabulary, const struct gguf *gguf, struct failure *failure);
void vocabulary_free(struct vocabulary *vocabulary);

/* The tokens of a text, at least one. free() the result. */
bool vocabulary_encode(const struct vocabulary *vocabulary, const char *text, int32_t **tokens, int64_t *count,
                       struct failure *failure);

/* Prints a text, without marks of its begin and control characters. */
void vocabulary_print(const struct vocabulary *vocabulary, const int32_t *tokens, int64_t count);

#endif
