/* Letters of dots, for pictures of pixels: printable ASCII. */
#ifndef FOVEA_TOOLS_FONT_H
#define FOVEA_TOOLS_FONT_H

#include <stdint.h>

/* Rows of a letter from the top; FONT_ASCENT of them are above the base line. */
enum { FONT_WIDTH = 5, FONT_HEIGHT = 9, FONT_ASCENT = 7 };

/* FONT_HEIGHT rows of FONT_WIDTH characters, '#' where a dot is. Characters that the font does not have are a box.
 */
const char *font_dots(uint32_t character);

#endif
