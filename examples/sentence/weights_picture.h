/* Draws matrices of attention weights side by side, with their tokens: the picture of `fovea heatmap`, a PNG if the
 * path ends in .png, a PDF if it ends in .pdf, else an SVG. */
#ifndef FOVEA_EXAMPLES_WEIGHTS_PICTURE_H
#define FOVEA_EXAMPLES_WEIGHTS_PICTURE_H

#include <stdbool.h>

enum { WEIGHTS_PANEL_LIMIT = 4, WEIGHTS_TOKEN_LIMIT = 512 };

struct weights_picture {
  const char *title, *note;  /* note: a line below */
  const char *const *tokens; /* at most WEIGHTS_TOKEN_LIMIT */
  int token_count;
  int marked_row; /* framed; -1: none */
  int panel_count;
  const char *names[WEIGHTS_PANEL_LIMIT];    /* above the panels; all empty: no line for them */
  const float *weights[WEIGHTS_PANEL_LIMIT]; /* (tokens, tokens), row: the query's token, column: the key's */
};

/* Whether this program was built with cairo, which draws. */
bool weights_picture_draws(void);

/* Returns NULL, or a text that says why the file was not written. */
const char *weights_picture_draw(const struct weights_picture *picture, const char *path);

#endif
