/* The keys that one row sees by the rules and the pattern, key by key. */
#ifndef FOVEA_SRC_VISIBLE_VISIBLE_WORDS_H
#define FOVEA_SRC_VISIBLE_VISIBLE_WORDS_H

#include "visibility.h"

/* Sets a bit for each key that the row sees, in words of FOVEA_WORD_KEYS keys from position `first_key` on. */
void fovea_visible_words(const fovea_visibility *by, fovea_row_place place, int64_t first_key, int64_t words,
                         uint64_t *visible);

#endif
