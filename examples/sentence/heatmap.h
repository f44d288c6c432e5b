/* Draws matrices of attention weights side by side, with their tokens, as one PNG. */
#ifndef FOVEA_EXAMPLES_HEATMAP_H
#define FOVEA_EXAMPLES_HEATMAP_H

#include <stdbool.h>

struct heatmap_panel {
  const char *title;
  const float *weights; /* (tokens, tokens), row: the token of the query, column: the token of the key; 0 to 1 */
};

struct heatmap {
  const char *title, *subtitle, *note;
  const char *const *tokens;
  int token_count;
  int marked_row; /* drawn bold and framed; -1: none */
  const struct heatmap_panel *panels;
  int panel_count;
};

/* Returns NULL, or a text that says why the file was not written. */
const char *heatmap_draw(const struct heatmap *map, const char *path);

#endif
