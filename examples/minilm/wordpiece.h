/* Cuts a text into tokens as BERT's tokenizer (uncased) does: words of letters in their plain form (characters.h),
 * punctuation and ideographs alone, and each word into the longest tokens of the vocabulary from its beginning on,
 * all but the first with ## before them. A word with no such cut, or with more than WORD_LIMIT characters, is
 * [UNK]. The names of special tokens, such as [MASK], stand for themselves. Malformed UTF-8 is read as U+FFFD,
 * which BERT drops. */
#ifndef MINILM_WORDPIECE_H
#define MINILM_WORDPIECE_H

#include "vocabulary.h"

/* sentence-transformers reads 256 tokens of a text with this model, [CLS] and [SEP] included. The model has
 * positions for 512. */
enum { TOKENS_LIMIT = 256, WORD_LIMIT = 100 };

/* Writes [CLS], the tokens of the text and [SEP]: at most TOKENS_LIMIT numbers. Returns how many. *cut is whether
 * the text has more, which are left out. */
int64_t wordpiece_encode(const struct vocabulary *vocabulary, const char *text, size_t length,
                         int32_t tokens[TOKENS_LIMIT], bool *cut);

#endif
