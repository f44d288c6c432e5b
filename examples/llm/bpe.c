#include "bpe.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, SHIFTED = 256 }; /* bytes that are not written as themselves are characters from U+0100 on */

/* Printable characters of Latin-1 stand for their own byte; the others are numbered from SHIFTED on, in their order. */
static bool is_plain(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The byte that a character stands for; -1: none. */
static int byte_of(int character) {
  if (character < BYTES) return is_plain(character) ? character : -1;
  int left = character - SHIFTED;
  for (int byte = 0; byte < BYTES; byte++)
    if (!is_plain(byte) && left-- == 0) return byte;
  return -1;
}

/* Tokens with a meaning of their own hold characters that stand for no byte: they are copied as they are. */
char *bpe_copy_text(struct gguf_text from, char *to) {
  char *const begin = to;
  for (size_t i = 0; i < from.length;) {
    const unsigned char *at = (const unsigned char *)from.bytes + i;
    const bool is_pair = at[0] >= 0xc2 && at[0] <= 0xdf && from.length - i >= 2;
    const int byte = byte_of(is_pair ? (at[0] & 31) << 6 | (at[1] & 63) : at[0] < 128 ? at[0] : 2 * BYTES);
    if (byte < 0) {
      memcpy(begin, from.bytes, from.length);
      return begin + from.length;
    }
    *to++ = (char)byte;
    i += is_pair ? 2 : 1;
  }
  return to;
}

/* -1: none. */
static int32_t token_of(const struct tokenizer *tokenizer, const char *text, const char *end) {
  const struct token *token = tokenizer_find(tokenizer, text, (int32_t)(end - text));
  return token ? token->number : -1;
}

static int compare_merges(const void *a, const void *b) {
  const struct merge *first = a, *second = b;
  if (first->left != second->left) return first->left < second->left ? -1 : 1;
  if (first->right != second->right) return first->right < second->right ? -1 : 1;
  return (first->rank > second->rank) - (first->rank < second->rank);
}

/* A merge is written as two texts with a space between them. `room` has as many bytes as the text. */
static bool read_merge(const struct tokenizer *tokenizer, struct gguf_text text, char *room, struct merge *merge) {
  const char *space = memchr(text.bytes, ' ', text.length);
  if (!space) return false;
  const struct gguf_text left = {text.bytes, (size_t)(space - text.bytes)},
                         right = {space + 1, text.length - left.length - 1};
  const char *middle = bpe_copy_text(left, room), *end = bpe_copy_text(right, room + (middle - room));
  merge->left = token_of(tokenizer, room, middle);
  merge->right = token_of(tokenizer, middle, end);
  merge->merged = token_of(tokenizer, room, end);
  return merge->left >= 0 && merge->right >= 0 && merge->merged >= 0;
}

static bool read_merges(struct bpe *bpe, const struct tokenizer *tokenizer, const struct gguf *gguf,
                        const struct gguf_value *merges, char *room, struct failure *failure) {
  const char *at = merges->data;
  for (int64_t i = 0; i < bpe->count; i++) {
    const struct gguf_text text = gguf_next_text(&at);
    bpe->merges[i].rank = (int32_t)i;
    if (!read_merge(tokenizer, text, room, &bpe->merges[i]))
      return refuse(failure, "%s: merge %lld is not of two tokens that make a third", gguf->path, (long long)i);
  }
  qsort(bpe->merges, (size_t)bpe->count, sizeof *bpe->merges, compare_merges);
  for (int i = 0; i < BYTES; i++) {
    const char byte = (char)i;
    bpe->byte_tokens[i] = token_of(tokenizer, &byte, &byte + 1);
  }
  return true;
}

bool bpe_read(struct bpe *bpe, const struct tokenizer *tokenizer, const struct gguf *gguf,
              struct failure *failure) {
  const struct gguf_value *merges;
  *bpe = (struct bpe){.merges = NULL};
  if (!gguf_array(gguf, "tokenizer.ggml.merges", GGUF_STRING, &merges, failure)) return false;
  if (merges->count > INT32_MAX) return refuse(failure, "%s: it has too many merges", gguf->path);
  bpe->count = (int64_t)merges->count;
  bpe->merges = malloc((size_t)(bpe->count + 1) * sizeof *bpe->merges);
  char *room = malloc(gguf->file.size); /* more than any text of it has */
  bool done = bpe->merges && room;
  if (!done) refuse(failure, "no memory for %lld merges", (long long)bpe->count);
  done = done && read_merges(bpe, tokenizer, gguf, merges, room, failure);
  free(room);
  if (!done) bpe_free(bpe);
  return done;
}

void bpe_free(struct bpe *bpe) {
  free(bpe->merges);
  *bpe = (struct bpe){.merges = NULL};
}

/* NULL if two neighbours stay two. */
static const struct merge *find_merge(const struct bpe *bpe, int32_t left, int32_t right) {
  int64_t low = 0, high = bpe->count;
  const struct merge wanted = {.left = left, .right = right, .rank = -1};
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (compare_merges(&bpe->merges[middle], &wanted) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  const struct merge *found = &bpe->merges[low];
  return low < bpe->count && found->left == left && found->right == right ? found : NULL;
}

/* A word: its bytes, then merges in the order of their ranks. Returns how many tokens it has. */
static int64_t encode_word(const struct bpe *bpe, const char *word, size_t length, int32_t *tokens) {
  int64_t left = (int64_t)length;
  for (int64_t i = 0; i < left; i++) tokens[i] = bpe->byte_tokens[(unsigned char)word[i]];
  for (;;) {
    const struct merge *best = NULL;
    int64_t place = 0;
    for (int64_t i = 0; i + 1 < left; i++) {
      const struct merge *merge = find_merge(bpe, tokens[i], tokens[i + 1]);
      if (merge && (!best || merge->rank < best->rank)) best = merge, place = i;
    }
    if (!best) return left;
    tokens[place] = best->merged;
    left--;
    memmove(&tokens[place + 1], &tokens[place + 2], (size_t)(left - place - 1) * sizeof *tokens);
  }
}

enum kind { SPACE, LETTER, DIGIT, OTHER };

/* Whatever is not ASCII counts as a letter. */
static enum kind kind_of(char character) {
  const unsigned char byte = (unsigned char)character;
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return SPACE;
  if (byte >= '0' && byte <= '9') return DIGIT;
  return (byte | 32) >= 'a' && ((byte | 32) <= 'z' || byte >= 128) ? LETTER : OTHER;
}

/* Bytes of "'s" and the like, which are words. */
static size_t contraction(const char *text, size_t left) {
  static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    const size_t length = strlen(endings[i]);
    if (length <= left && memcmp(text, endings[i], length) == 0) return length;
  }
  return 0;
}

/* Bytes of the next word: a digit; letters or other signs, with a space before them; or spaces, of which the last goes
 * to the word that follows. */
static size_t word_length(const char *text, size_t left) {
  size_t length = contraction(text, left);
  if (length > 0) return length;
  if (kind_of(text[0]) == DIGIT) return 1;
  const size_t first = text[0] == ' ' && left > 1 && (kind_of(text[1]) == LETTER || kind_of(text[1]) == OTHER);
  const enum kind kind = kind_of(text[first]);
  for (length = first; length < left && kind_of(text[length]) == kind;) length++;
  const bool is_before_word = kind == SPACE && length > 1 && length < left && kind_of(text[length]) != DIGIT;
  return is_before_word ? length - 1 : length;
}

bool bpe_encode(const struct bpe *bpe, const char *text, size_t length, int32_t *tokens, int64_t *count,
                struct failure *failure) {
  for (size_t i = 0; i < length; i++)
    if (bpe->byte_tokens[(unsigned char)text[i]] < 0)
      return refuse(failure, "the vocabulary has no token for byte %d of a prompt", (unsigned char)text[i]);
  for (size_t at = 0; at < length;) {
    const size_t word = word_length(text + at, length - at);
    *count += encode_word(bpe, text + at, word, tokens + *count);
    at += word;
  }
  return true;
}
