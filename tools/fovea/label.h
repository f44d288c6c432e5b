/* Text in pictures and on terminals: any bytes become printable UTF-8. */
#ifndef FOVEA_TOOLS_LABEL_H
#define FOVEA_TOOLS_LABEL_H

#include <stddef.h>

/* UTF-8, not ended by a zero byte. */
typedef struct text_span {
  const char *bytes;
  size_t length;
} text_span;

enum { LABEL_BYTES = 4 * 164 };

/* A text that is ended by a zero byte, and how many columns of a terminal it takes. */
typedef struct label {
  char text[LABEL_BYTES];
  int columns;
} label;

/* At most `limit` characters, up to 160, and an ellipsis if there are more. Bytes that are no UTF-8, and characters that
 * XML forbids, controls among them, become U+FFFD. Blanks at both ends become U+2423. Characters from U+1100 count as
 * two columns. */
label make_label(text_span text, int limit);
label make_label_of(const char *text, int limit); /* ended by a zero byte */

#endif
