#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BYTES = 256,
  LEAST_TOKENS = TOKEN_FIRST_BYTE + BYTES,
  MOST_TOKENS = 1 << 24,
  MOST_LENGTH = 1 << 16,
  MARK = 3
};

/* SentencePiece writes a space as U+2581. */
static const char space[] = "\342\226\201";

static bool read_kind(struct vocabulary *vocabulary, const struct gguf *gguf, struct failure *failure) {
  const struct gguf_value *kind = gguf_find(gguf, "tokenizer.ggml.model"),
                          *words = gguf_find(gguf, "tokenizer.ggml.pre");
  int64_t begin = 1, number;
  vocabulary->has_merges = gguf_is(kind, "gpt2") && gguf_is(words, "smollm");
  if (!vocabulary->has_merges && !gguf_is(kind, "llama"))
    return refuse(failure, "%s: tokenizer.ggml.model and .pre are not 'llama', nor 'gpt2' and 'smollm'",
                  gguf->path);
  /* A text without scores gets no space in front of it. */
  const int64_t prefix = !vocabulary->has_merges;
  if (!gguf_whole(gguf, "tokenizer.ggml.bos_token_id", TOKEN_BEGIN, TOKEN_BEGIN, TOKEN_BEGIN, &number, failure) ||
      !gguf_whole(gguf, "tokenizer.ggml.eos_token_id", TOKEN_END, TOKEN_END, TOKEN_END, &number, failure) ||
      !gguf_whole(gguf, "tokenizer.ggml.add_space_prefix", prefix, prefix, prefix, &number, failure) ||
      !gguf_whole(gguf, "tokenizer.ggml.add_bos_token", prefix, 1, prefix, &begin, failure))
    return false;
  vocabulary->has_begin = begin == 1;
  return true;
}

/* Writes a text with spaces for what stands for them; returns the byte after it. */
static char *copy_text(struct gguf_text from, char *to) {
  const size_t width = sizeof space - 1;
  for (size_t i = 0; i < from.length;) {
    const bool is_space = from.length - i >= width && memcmp(from.bytes + i, space, width) == 0;
    *to++ = is_space ? ' ' : from.bytes[i];
    i += is_space ? width : 1;
  }
  return to;
}

/* Gives the tokenizer the tokens, whose texts go to its file. */
static bool fill(struct vocabulary *vocabulary, const struct gguf *gguf, const struct gguf_value *tokens,
                 struct failure *failure) {
  struct tokenizer *tokenizer = &vocabulary->tokenizer;
  const char *at = tokens->data;
  char *end = tokenizer->file.bytes;
  for (int32_t i = 0; i < tokenizer->count; i++) {
    struct token *token = &tokenizer->tokens[i];
    const struct gguf_text text = gguf_next_text(&at);
    if (text.length > MOST_LENGTH)
      return refuse(failure, "%s: token %d has %zu bytes; %d are the most", gguf->path, (int)i, text.length,
                    MOST_LENGTH);
    token->text = end;
    end = vocabulary->has_merges ? bpe_copy_text(text, end) : copy_text(text, end);
    token->length = (int32_t)(end - token->text);
    token->number = i;
  }
  tokenizer_sort(tokenizer);
  return true;
}

static bool read_tokens(struct vocabulary *vocabulary, const struct gguf *gguf, const struct gguf_value *tokens,
                        struct failure *failure) {
  struct tokenizer *tokenizer = &vocabulary->tokenizer;
  if (tokens->count < LEAST_TOKENS || tokens->count > MOST_TOKENS)
    return refuse(failure, "%s: it has %llu tokens; it must be from %d to %d", gguf->path,
                  (unsigned long long)tokens->count, LEAST_TOKENS, MOST_TOKENS);
  if (!tokenizer_create(tokenizer, gguf->path, (int64_t)tokens->count, failure)) return false;
  const char *end = tokens->data;
  for (uint64_t i = 0; i < tokens->count; i++) gguf_next_text(&end);
  tokenizer->file.size = (size_t)(end - tokens->data); /* more than all texts have */
  tokenizer->file.bytes = malloc(tokenizer->file.size + 1);
  if (!tokenizer->file.bytes) return refuse(failure, "no memory for the texts of tokens");
  return fill(vocabulary, gguf, tokens, failure);
}

/* The list of another property of each token. */
static bool find_list(const struct vocabulary *vocabulary, const struct gguf *gguf, const char *name,
                      enum gguf_value_type type, const struct gguf_value **list, struct failure *failure) {
  if (!gguf_array(gguf, name, type, list, failure)) return false;
  return (*list)->count == (uint64_t)vocabulary->tokenizer.count ||
         refuse(failure, "%s: %d tokens and %llu of %s", gguf->path, (int)vocabulary->tokenizer.count,
                (unsigned long long)(*list)->count, name);
}

static bool read_scores(struct vocabulary *vocabulary, const struct gguf *gguf, struct failure *failure) {
  struct tokenizer *tokenizer = &vocabulary->tokenizer;
  const struct gguf_value *scores;
  if (!find_list(vocabulary, gguf, "tokenizer.ggml.scores", GGUF_FLOAT32, &scores, failure)) return false;
  for (int32_t i = 0; i < tokenizer->count; i++)
    memcpy(&tokenizer->tokens[i].score, scores->data + 4 * (size_t)i, 4);
  for (int i = 0; i < BYTES; i++) {
    char name[8] = "";
    const struct token *token = &tokenizer->tokens[TOKEN_FIRST_BYTE + i];
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
    if (token->length != (int32_t)strlen(name) || memcmp(token->text, name, strlen(name)) != 0)
      return refuse(failure, "%s: token %d is not %s; tokens 3 to 258 must be those of bytes", gguf->path,
                    TOKEN_FIRST_BYTE + i, name);
  }
  tokenizer_sort(tokenizer); /* with scores */
  return true;
}

static bool read_marks(struct vocabulary *vocabulary, const struct gguf *gguf, struct failure *failure) {
  const struct gguf_value *types;
  if (!find_list(vocabulary, gguf, "tokenizer.ggml.token_type", GGUF_INT32, &types, failure)) return false;
  vocabulary->marks = malloc((size_t)types->count * sizeof *vocabulary->marks);
  if (!vocabulary->marks) return refuse(failure, "no memory for marks");
  for (int32_t i = 0; i < vocabulary->tokenizer.count; i++) {
    int32_t type;
    memcpy(&type, types->data + 4 * (size_t)i, sizeof type);
    if (type == MARK && vocabulary->tokenizer.tokens[i].length > 0) vocabulary->marks[vocabulary->mark_count++] = i;
  }
  return true;
}

bool vocabulary_read(struct vocabulary *vocabulary, const struct gguf *gguf, struct failure *failure) {
  const struct gguf_value *tokens;
  *vocabulary = (struct vocabulary){.marks = NULL};
  if (gguf_array(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, failure) &&
      read_kind(vocabulary, gguf, failure) && read_tokens(vocabulary, gguf, tokens, failure) &&
      (vocabulary->has_merges ? bpe_read(&vocabulary->bpe, &vocabulary->tokenizer, gguf, failure) &&
                                    read_marks(vocabulary, gguf, failure)
                              : read_scores(vocabulary, gguf, failure)))
    return true;
  vocabulary_free(vocabulary);
  return false;
}

void vocabulary_free(struct vocabulary *vocabulary) {
  tokenizer_free(&vocabulary->tokenizer);
  bpe_free(&vocabulary->bpe);
  free(vocabulary->marks);
  *vocabulary = (struct vocabulary){.marks = NULL};
}

/* The mark that a text begins with; NULL: none. */
static const struct token *mark_at(const struct vocabulary *vocabulary, const char *text) {
  for (int32_t i = 0; i < vocabulary->mark_count; i++) {
    const struct token *mark = &vocabulary->tokenizer.tokens[vocabulary->marks[i]];
    if (strncmp(text, mark->text, (size_t)mark->length) == 0) return mark;
  }
  return NULL;
}

bool vocabulary_encode(const struct vocabulary *vocabulary, const char *text, int32_t **tokens, int64_t *count,
                       struct failure *failure) {
  if (!vocabulary->has_merges) return tokenizer_encode(&vocabulary->tokenizer, text, tokens, count, failure);
  *count = 0;
  *tokens = malloc((strlen(text) + 1) * sizeof **tokens);
  if (!*tokens) return refuse(failure, "no memory for a prompt");
  if (vocabulary->has_begin) (*tokens)[(*count)++] = TOKEN_BEGIN;
  while (*text) {
    size_t length = 0;
    while (text[length] && !mark_at(vocabulary, text + length)) length++;
    if (!bpe_encode(&vocabulary->bpe, text, length, *tokens, count, failure)) return false;
    text += length;
    const struct token *mark = mark_at(vocabulary, text);
    if (!mark) continue;
    (*tokens)[(*count)++] = mark->number;
    text += mark->length;
  }
  return *count > 0 || refuse(failure, "an empty prompt has no token to begin with in this vocabulary");
}

void vocabulary_print(const struct vocabulary *vocabulary, const int32_t *tokens, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (tokens[i] != TOKEN_BEGIN)
      tokenizer_print(&vocabulary->tokenizer, i > 0 ? tokens[i - 1] : TOKEN_END, tokens[i]);
  putchar('\n');
}
