/* What goes in and what comes out: letters and symbols, as the numbers that the model was trained with. */
#ifndef TRANSLATE_TEXT_H
#define TRANSLATE_TEXT_H

#include "../stories/failure.h"

#include <stdint.h>

enum {
  LETTER_COUNT = 39,
  LETTERS_LIMIT = 80, /* of an input; training texts have up to 66 */
  SYMBOL_COUNT = 12,
  SYMBOL_END = 0, /* also what is before the first symbol */
  STEPS_LIMIT = 11
};

struct letters {
  int64_t count;
  int32_t ids[LETTERS_LIMIT];
};

/* Reads a text without the blanks around it; capitals become small. Refused: nothing, too much, a character that
 * the model does not know. */
bool letters_read(struct letters *letters, const char *text, struct failure *failure);

char letter_of(int32_t id);
char symbol_of(int32_t id);

/* Whether a text is a date of the calendar, as YYYY-MM-DD. */
bool is_date(const char *text);

#endif
