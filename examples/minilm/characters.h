/* What BERT's tokenizer (uncased) makes of a character: control characters and accents go (by canonical
 * decomposition), capital letters become small ones, all white space becomes spaces, and ideographs get spaces
 * around them. characters.inc holds the reference's answers for every code point. */
#ifndef MINILM_CHARACTERS_H
#define MINILM_CHARACTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { CHARACTER_IMAGES = 3 };

/* Writes the code points that `point` becomes, and returns how many. */
int character_images(uint32_t point, uint32_t to[CHARACTER_IMAGES]);

/* Whether it is a word of its own: punctuation, and every ASCII sign that is no letter or digit. */
bool character_stands_alone(uint32_t point);

#endif
