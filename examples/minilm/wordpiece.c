#include "wordpiece.h"
#include "characters.h"
#include "utf8.h"

#include <string.h>

enum { WORD_BYTES = WORD_LIMIT * UTF8_LONGEST };

/* The tokens so far, and the word that is being read. */
struct cutter {
  const struct vocabulary *vocabulary;
  int32_t *tokens;
  int64_t count;
  bool full;                 /* a token had no place */
  char word[2 + WORD_BYTES]; /* after room for ## */
  size_t length;             /* bytes of the word */
  int64_t characters;        /* of the word, with characters beyond WORD_LIMIT, which are not kept */
};

static void put_token(struct cutter *cutter, int32_t token) {
  if (cutter->count == TOKENS_LIMIT - 1) /* [SEP] comes last */
    cutter->full = true;
  else
    cutter->tokens[cutter->count++] = token;
}

/* The longest token that begins at that byte of the word. `begin` moves after it; -1 if there is none. */
static int32_t longest_piece(struct cutter *cutter, size_t *begin) {
  char *word = cutter->word + 2, saved[2];
  const size_t mark = *begin > 0 ? 2 : 0;
  int32_t token = -1;
  char *piece = word + *begin - mark; /* ## goes over what has been cut already, or before the word */
  memcpy(saved, piece, mark);
  memcpy(piece, "##", mark);
  size_t end = cutter->length;
  for (; end > *begin && token < 0; end--)
    if (end == cutter->length || ((unsigned char)word[end] & 0xc0) != 0x80)
      token = vocabulary_find(cutter->vocabulary, piece, end - *begin + mark);
  memcpy(piece, saved, mark);
  *begin = end + 1;
  return token;
}

/* Puts the tokens of the word that has been read, and begins the next one. */
static void end_word(struct cutter *cutter) {
  int32_t pieces[WORD_LIMIT];
  int64_t count = 0;
  bool known = cutter->characters <= WORD_LIMIT;
  for (size_t begin = 0; begin < cutter->length && known;) {
    pieces[count] = longest_piece(cutter, &begin);
    known = pieces[count++] >= 0;
  }
  for (int64_t i = 0; i < count && known; i++) put_token(cutter, pieces[i]);
  if (!known) put_token(cutter, cutter->vocabulary->unknown);
  cutter->length = 0;
  cutter->characters = 0;
}

static void put_character(struct cutter *cutter, uint32_t point) {
  const bool alone = character_stands_alone(point);
  if (point == ' ' || alone) end_word(cutter);
  if (point == ' ') return;
  if (cutter->characters++ < WORD_LIMIT) cutter->length += utf8_write(point, cutter->word + 2 + cutter->length);
  if (alone) end_word(cutter);
}

/* The special token that the text begins with. Returns the length of its name; 0 if there is none. */
static size_t special_token(const struct vocabulary *vocabulary, const char *text, size_t length, int32_t *token) {
  static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const size_t size = strlen(names[i]);
    if (length < size || memcmp(text, names[i], size) != 0) continue;
    *token = vocabulary_find(vocabulary, names[i], size);
    return *token < 0 ? 0 : size;
  }
  return 0;
}

int64_t wordpiece_encode(const struct vocabulary *vocabulary, const char *text, size_t length,
                         int32_t tokens[TOKENS_LIMIT], bool *cut) {
  struct cutter cutter = {.vocabulary = vocabulary, .tokens = tokens};
  const char *next = text, *end = text + length;
  put_token(&cutter, vocabulary->begin);
  while (next < end && !cutter.full) {
    int32_t special = 0;
    uint32_t point, images[CHARACTER_IMAGES];
    const size_t named = *next == '[' ? special_token(vocabulary, next, (size_t)(end - next), &special) : 0;
    if (named > 0) {
      end_word(&cutter);
      put_token(&cutter, special);
      next += named;
      continue;
    }
    utf8_read(&next, end, &point);
    const int count = character_images(point, images);
    for (int i = 0; i < count; i++) put_character(&cutter, images[i]);
  }
  end_word(&cutter);
  cutter.tokens[cutter.count++] = vocabulary->end;
  *cut = cutter.full;
  return cutter.count;
}
