#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_texts(const void *a, const void *b) {
  const struct token *first = a, *second = b;
  const int32_t common = first->length < second->length ? first->length : second->length;
  const int order = memcmp(first->text, second->text, (size_t)common);
  if (order != 0) return order;
  if (first->length != second->length) return first->length < second->length ? -1 : 1;
  return first->number < second->number ? -1 : first->number > second->number; /* some texts occur twice */
}

/* The bytes of a file that are left. */
struct reader {
  const char *next;
  size_t left;
};

static bool read_bytes(struct reader *reader, void *to, size_t size) {
  if (reader->left < size) return false;
  memcpy(to, reader->next, size);
  reader->next += size;
  reader->left -= size;
  return true;
}

static bool read_token(struct reader *reader, struct token *token, int32_t number) {
  token->number = number;
  if (!read_bytes(reader, &token->score, 4) || !read_bytes(reader, &token->length, 4)) return false;
  if (token->length < 0 || (size_t)token->length > reader->left) return false;
  token->text = reader->next;
  reader->next += token->length;
  reader->left -= (size_t)token->length;
  return true;
}

static bool read_tokens(struct tokenizer *tokenizer, const char *path, struct failure *failure) {
  struct reader reader = {tokenizer->file.bytes, tokenizer->file.size};
  int32_t longest = 0; /* llama2.c needs it for its buffers; not used here */
  if (!read_bytes(&reader, &longest, sizeof longest)) return refuse(failure, "%s: it is empty", path);
  for (int32_t i = 0; i < tokenizer->count; i++)
    if (!read_token(&reader, &tokenizer->tokens[i], i))
      return refuse(failure, "%s: ends within token %d; the model has %d", path, (int)i, (int)tokenizer->count);
  if (reader.left > 0)
    return refuse(failure, "%s: %zu bytes are left after %d tokens, which is what the model has", path, reader.left,
                  (int)tokenizer->count);
  return true;
}

bool tokenizer_create(struct tokenizer *tokenizer, const char *path, int64_t vocabulary, struct failure *failure) {
  *tokenizer = (struct tokenizer){.count = (int32_t)vocabulary};
  if (vocabulary <= TOKEN_END)
    return refuse(failure, "%s: the model has %lld tokens; it needs those that begin and end a text", path,
                  (long long)vocabulary);
  const size_t size = (size_t)vocabulary * sizeof *tokenizer->tokens;
  tokenizer->tokens = calloc(1, size);
  tokenizer->sorted = malloc(size);
  if (tokenizer->tokens && tokenizer->sorted) return true;
  tokenizer_free(tokenizer);
  return refuse(failure, "no memory for %lld tokens", (long long)vocabulary);
}

void tokenizer_sort(struct tokenizer *tokenizer) {
  const size_t count = (size_t)tokenizer->count;
  memcpy(tokenizer->sorted, tokenizer->tokens, count * sizeof *tokenizer->sorted);
  qsort(tokenizer->sorted, count, sizeof *tokenizer->sorted, compare_texts);
}

bool tokenizer_read(struct tokenizer *tokenizer, const char *path, int64_t vocabulary, struct failure *failure) {
  if (!tokenizer_create(tokenizer, path, vocabulary, failure)) return false;
  if (!file_read(&tokenizer->file, path, failure) || !read_tokens(tokenizer, path, failure)) {
    tokenizer_free(tokenizer);
    return false;
  }
  tokenizer_sort(tokenizer);
  return true;
}

void tokenizer_free(struct tokenizer *tokenizer) {
  free(tokenizer->tokens);
  free(tokenizer->sorted);
  file_free(&tokenizer->file);
  *tokenizer = (struct tokenizer){0};
}

const struct token *tokenizer_find(const struct tokenizer *tokenizer, const char *text, int32_t length) {
  const struct token wanted = {.text = text, .length = length, .number = -1};
  int32_t low = 0, high = tokenizer->count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (compare_texts(&tokenizer->sorted[middle], &wanted) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  const struct token *found = &tokenizer->sorted[low];
  const bool same =
      low < tokenizer->count && found->length == length && memcmp(found->text, text, (size_t)length) == 0;
  return same ? found : NULL;
}

/* Bytes of the UTF-8 character that begins there. */
static int32_t character_length(const char *text) {
  int32_t length = 1;
  while (length < 4 && ((unsigned char)text[length] & 0xc0) == 0x80) length++;
  return length;
}

/* Each character as one token, or its bytes as one each. `tokens` has room for two more than the text has bytes. */
static bool encode_characters(const struct tokenizer *tokenizer, const char *text, int32_t *tokens, int64_t *count,
                              struct failure *failure) {
  tokens[(*count)++] = TOKEN_BEGIN;
  const struct token *space = tokenizer_find(tokenizer, " ", 1); /* these models expect a space before every text */
  if (*text && space) tokens[(*count)++] = space->number;
  while (*text) {
    const int32_t length = character_length(text);
    const struct token *whole = tokenizer_find(tokenizer, text, length);
    for (int32_t i = 0; i < (whole ? 1 : length); i++) {
      const int32_t number = whole ? whole->number : TOKEN_FIRST_BYTE + (unsigned char)text[i];
      if (number >= tokenizer->count)
        return refuse(failure, "the tokenizer has no token for byte %d", (unsigned char)text[i]);
      tokens[(*count)++] = number;
    }
    text += length;
  }
  return true;
}

/* The token whose text is the joined text of two neighbours; NULL if there is none. `joined` has room for both. */
static const struct token *merged(const struct tokenizer *tokenizer, int32_t left, int32_t right, char *joined) {
  const struct token *first = &tokenizer->tokens[left], *second = &tokenizer->tokens[right];
  memcpy(joined, first->text, (size_t)first->length);
  memcpy(joined + first->length, second->text, (size_t)second->length);
  return tokenizer_find(tokenizer, joined, first->length + second->length);
}

/* Merges the two neighbours that make the token with the highest score, the leftmost if scores are equal, until no
 * two neighbours make a token. pairs[i] is what tokens i and i + 1 make. */
static void merge_neighbours(const struct tokenizer *tokenizer, int32_t *tokens, int64_t *count,
                             const struct token **pairs, char *joined) {
  for (int64_t i = 0; i + 1 < *count; i++) pairs[i] = merged(tokenizer, tokens[i], tokens[i + 1], joined);
  for (;;) {
    const struct token *best = NULL;
    int64_t place = 0;
    for (int64_t i = 0; i + 1 < *count; i++)
      if (pairs[i] && (!best || pairs[i]->score > best->score)) best = pairs[i], place = i;
    if (!best) return;
    const size_t after = (size_t)(*count - place - 2);
    tokens[place] = best->number;
    memmove(&tokens[place + 1], &tokens[place + 2], after * sizeof *tokens);
    memmove(&pairs[place], &pairs[place + 1], after * sizeof *pairs);
    --*count;
    if (place > 0) pairs[place - 1] = merged(tokenizer, tokens[place - 1], tokens[place], joined);
    if (after > 0) pairs[place] = merged(tokenizer, tokens[place], tokens[place + 1], joined);
  }
}

bool tokenizer_encode(const struct tokenizer *tokenizer, const char *text, int32_t **tokens, int64_t *count,
                      struct failure *failure) {
  *count = 0;
  *tokens = malloc((strlen(text) + 2) * sizeof **tokens);
  const struct token **pairs = malloc((strlen(text) + 2) * sizeof *pairs);
  char *joined = malloc(2 * tokenizer->file.size);
  const bool room = *tokens && pairs && joined;
  if (!room) refuse(failure, "no memory for the prompt");
  const bool encoded = room && encode_characters(tokenizer, text, *tokens, count, failure);
  if (encoded) {
    merge_neighbours(tokenizer, *tokens, count, pairs, joined);
  } else {
    free(*tokens);
    *tokens = NULL;
  }
  free(pairs);
  free(joined);
  return encoded;
}

/* The byte of a token called <0x0A>; -1 if it has another name. */
static int byte_of(const struct token *token) {
  unsigned byte = 0;
  char name[7] = "";
  if (token->length != 6) return -1;
  memcpy(name, token->text, 6);
  return sscanf(name, "<0x%02X>", &byte) == 1 && name[5] == '>' ? (int)byte : -1;
}

size_t tokenizer_decode(const struct tokenizer *tokenizer, int32_t before, int32_t token, char *bytes,
                        size_t size) {
  const struct token *what = &tokenizer->tokens[token];
  const char *text = what->text;
  size_t length = (size_t)what->length;
  const char byte = (char)byte_of(what);
  if (byte_of(what) >= 0) text = &byte, length = 1;
  if (before == TOKEN_BEGIN && length > 0 && text[0] == ' ') text++, length--;
  if (length > size) length = size;
  memcpy(bytes, text, length);
  return length;
}

void tokenizer_print(const struct tokenizer *tokenizer, int32_t before, int32_t token) {
  char bytes[256];
  const size_t length = tokenizer_decode(tokenizer, before, token, bytes, sizeof bytes);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)bytes[i] >= ' ' || bytes[i] == '\n' || bytes[i] == '\t') putchar(bytes[i]);
  fflush(stdout);
}
