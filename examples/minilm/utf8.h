/* Code points from UTF-8, and back. */
#ifndef MINILM_UTF8_H
#define MINILM_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_LONGEST = 4, UTF8_REPLACEMENT = 0xfffd };

/* Reads one code point and moves *next after it. False if the bytes there are malformed (cut off, overlong, a
 * surrogate, above U+10FFFF): then it is UTF8_REPLACEMENT for the longest part that could begin a code point, at
 * least one byte, as the Unicode standard (3.9) recommends. *next must be before end. */
bool utf8_read(const char **next, const char *end, uint32_t *point);

/* Writes a code point, and returns its number of bytes. */
size_t utf8_write(uint32_t point, char bytes[UTF8_LONGEST]);

/* A copy of a text with UTF8_REPLACEMENT for what is malformed; free() it. NULL: no memory. */
char *utf8_repaired(const char *text);

#endif
