/* The same model in float64, as its papers write it, and without a line of the example or of the library: the
 * test's own reader of the checkpoint and a forward pass of one token after another. */
#ifndef STORIES_REFERENCE_H
#define STORIES_REFERENCE_H

#include <stdint.h>

struct reference;

/* NULL if the file cannot be read. */
struct reference *reference_open(const char *checkpoint);
void reference_close(struct reference *reference);

/* How many numbers reference_next() returns. */
int reference_vocabulary(const struct reference *reference);

/* Reads one more token. Returns the scores of the next token; they are valid until the next call. If `window` is
 * above 0, a token sees that many positions, its own included. */
const double *reference_next(struct reference *reference, int token, int window);

#endif
