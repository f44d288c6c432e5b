/* Translates every line of a file, and compares. */
#ifndef TRANSLATE_CHECK_H
#define TRANSLATE_CHECK_H

#include "translator.h"

struct tally {
  int64_t right, count;
};

/* Called for each wrong answer. */
typedef void wrong_answer(const char *text, const char *answer, const char *wanted);

/* Each line is a text, a tab and its answer. `wrong` may be NULL. A line of another form, and a text that cannot be
 * read, are refused before the first is translated. */
bool check_file(const struct model *model, const char *path, int threads, wrong_answer *wrong, struct tally *tally,
                struct failure *failure);

#endif
