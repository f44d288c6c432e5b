/* The tokens that label an axis of a heat map: the lines of a file. */
#ifndef FOVEA_TOOLS_HEATMAP_TOKENS_H
#define FOVEA_TOOLS_HEATMAP_TOKENS_H

#include "failure.h"
#include "label.h"

#include <stdint.h>

typedef struct token_list {
  char *bytes; /* the whole file */
  text_span *tokens;
  int64_t count;
} token_list;

/* Reads a file with one token a line; the last line may lack its end, and lines may end as on Windows. `list` must
 * be all zero bytes before. Free it in any case. */
bool tokens_load(token_list *list, const char *path, failure *why);
void tokens_free(token_list *list);

#endif
